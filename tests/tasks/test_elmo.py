"""A frozen language model inside a task: it is not changed, and the run contains it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from facts import write_facts
from small_elmo import small_elmo, small_tagger

import elman
from elman.batches.sentences import SentenceReader, Sentences
from elman.errors import InputError
from elman.models.bidirectional import BidirectionalModel
from elman.tasks.sentence_task import Elmo
from elman.tasks.vectors import embedder_of
from elman.text.word_list import WordList

pytestmark = pytest.mark.usefixtures("without_curves")
WORDS = [["John", "saw", "London"], ["the", "cat"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> Path:
    folder = tmp_path_factory.mktemp("elmo")
    small_elmo(folder)
    return folder / "elmo"


def frozen_weights(run: Path) -> dict[str, np.ndarray]:
    arrays = elman.load(run).model.arrays()
    return {name: array for name, array in arrays.items() if not name.startswith("softmax.")}


@pytest.mark.parametrize("average", ["none", "ema"])
def test_it_stays_bit_identical(run: Path, tmp_path: Path, average: str) -> None:
    settings = [f"training.average={average}", "training.weight_decay=0.1"]
    trained = small_tagger(tmp_path, f"model.elmo={run}", *settings, out=tmp_path / "ner")
    contextual = trained.model.encoder.contextual
    before = frozen_weights(run)
    for model in (contextual.model, elman.load(tmp_path / "ner").model.encoder.contextual.model):
        after = model.arrays()
        assert after.keys() == before.keys()
        for name, array in before.items():
            assert array.tobytes() == after[name].tobytes(), name


def test_the_mix_is_learned(run: Path, tmp_path: Path) -> None:
    trained = small_tagger(tmp_path, f"model.elmo={run}")
    (mix,) = trained.model.encoder.contextual.mixes
    assert (mix.weights != 0).all()
    assert mix.scale != 1


def test_it_makes_a_difference(run: Path, tmp_path: Path) -> None:
    trained = small_tagger(tmp_path, f"model.elmo={run}")
    sentences = trained.task.reader.read(WORDS)
    before = trained.model.encoder(sentences)
    for parameter in trained.model.encoder.contextual.model.parameters():
        parameter.zero_()
    assert not torch.equal(before, trained.model.encoder(sentences))


@pytest.mark.parametrize("output", ["false", "true"])
def test_the_run_is_whole_without_the_other(run: Path, tmp_path: Path, output: str) -> None:
    copied = shutil.copytree(run, tmp_path / "copied")
    settings = [f"model.elmo={copied}", f"model.contextual_output={output}"]
    trained = small_tagger(tmp_path, *settings, out=tmp_path / "ner")
    shutil.rmtree(copied)
    again = elman.load(tmp_path / "ner")
    assert len(again.model.encoder.contextual.mixes) == (2 if output == "true" else 1)
    sentences = trained.task.reader.read(WORDS)
    torch.testing.assert_close(again.model.encoder(sentences), trained.model.encoder(sentences))
    again.save(tmp_path / "saved")
    assert elman.load(tmp_path / "saved").tag(WORDS) == again.tag(WORDS) == trained.tag(WORDS)


@pytest.mark.parametrize("pair", [False, True])
def test_classifiers_have_it_too(run: Path, tmp_path: Path, pair: bool) -> None:
    rows = ["the cat sat\t{}good", "dogs bark\t{}bad"]
    text = "\n".join(row.format("so what\t" if pair else "") for row in rows * 3) + "\n"
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    settings = ["model.hidden_size=8", "model.embedding_size=6", "training.epochs=2"]
    settings += [f"model.elmo={run}", "model.contextual_output=true"]
    place = tmp_path / "labels"
    trained = elman.train("classifier", data=str(tmp_path), overrides=settings, out=place)
    contextual = elman.load(place).model.encoder.contextual
    for name, array in frozen_weights(run).items():
        assert array.tobytes() == contextual.model.arrays()[name].tobytes(), name
    assert all((mix.weights != 0).all() for mix in contextual.mixes)
    given = [("the cat", "so what") if pair else "the cat"]
    assert elman.load(place).classify(given) == trained.classify(given)


def test_a_task_keeps_no_softmax(run: Path, tmp_path: Path) -> None:
    trained = small_tagger(tmp_path, f"model.elmo={run}")
    assert not any("softmax" in name for name in trained.model.arrays())


def test_it_goes_on_where_it_stopped(run: Path, tmp_path: Path) -> None:
    from elman.tasks.task import resume
    from elman.training.loop import Stopped
    from elman.training.machine import Machine

    copied = shutil.copytree(run, tmp_path / "copied")
    settings = [f"model.elmo={copied}", "training.epochs=4"]
    whole = small_tagger(tmp_path / "data", *settings)
    steps = 0

    def stop(record: dict) -> None:
        nonlocal steps
        steps += "valid_span_error" in record
        if steps == 2:
            raise Stopped("stopped", 15)

    with pytest.raises(Stopped):
        small_tagger(
            tmp_path / "data", *settings, out=tmp_path / "ner", machine=Machine(record=stop)
        )
    shutil.rmtree(copied)
    resumed = resume(tmp_path / "ner")
    assert elman.load(tmp_path / "ner").facts["training"]["finished"]
    for name, array in whole.model.arrays().items():
        np.testing.assert_array_equal(array, resumed.model.arrays()[name], err_msg=name)


def test_a_penalty_keeps_the_weights_of_a_mix_even(run: Path, tmp_path: Path) -> None:
    def spread(penalty: float) -> float:
        settings = [f"model.elmo={run}", f"model.contextual_penalty={penalty}"]
        settings += ["model.contextual_output=true", "training.epochs=20"]
        trained = small_tagger(tmp_path, *settings, "training.patience=0")
        return float(trained.model.encoder.contextual.squares().detach())

    assert spread(10.0) < 0.5 * spread(0.0)


def test_the_penalty_is_the_sum_of_squares(run: Path, tmp_path: Path) -> None:
    settings = [f"model.elmo={run}", "model.contextual_output=true"]
    encoder = small_tagger(tmp_path, *settings, "model.contextual_penalty=0.5").model.encoder
    for number, mix in enumerate(encoder.contextual.mixes):
        mix.weights.data.copy_(torch.tensor([1.0, -2.0, 3.0 + number]))
    assert float(encoder.penalty().detach()) == pytest.approx(0.5 * ((1 + 4 + 9) + (1 + 4 + 16)))


def test_published_sizes_survive() -> None:
    from elman.models.bidirectional import BidirectionalConfig

    config = BidirectionalConfig()
    assert Elmo.from_data(Elmo(config).to_data()).config == config


def test_what_is_no_language_model_is_refused(tmp_path: Path) -> None:
    small_tagger(tmp_path / "data", out=tmp_path / "ner")
    with pytest.raises(InputError, match="is a run of the model 'tagger'"):
        small_tagger(tmp_path / "data", f"model.elmo={tmp_path / 'ner'}")
    with pytest.raises(
        InputError, match="^model.elmo=nowhere: no such run; train one with: elman train elmo-small"
    ):
        small_tagger(tmp_path / "data", "model.elmo=nowhere")
    with pytest.raises(InputError, match=r"model\.elmo=RUN"):
        small_tagger(tmp_path / "data", "model.contextual_output=true")
    with pytest.raises(InputError, match="contextual_penalty=-1"):
        small_tagger(tmp_path / "data", "model.contextual_penalty=-1")


def test_an_answerer_reads_it_too(run: Path, tmp_path: Path) -> None:
    data = write_facts(tmp_path / "facts", train=3, valid=1, test=1)
    sizes = ["model.num_layers=1", "model.hidden_size=5", "model.embedding_size=4"]
    shutil.copytree(run, tmp_path / "elmo")
    overrides = [*sizes, "training.epochs=1", f"model.elmo={tmp_path / 'elmo'}"]
    trained = elman.train("answerer", data=str(data), out=tmp_path / "run", overrides=overrides)
    assert trained.model.features.size == 4 + 50 + 12
    (mix,) = trained.model.contextual.mixes
    assert (mix.weights != 0).all()
    shutil.rmtree(tmp_path / "elmo")
    loaded = elman.load(tmp_path / "run")
    asked = ("Where is John?", "John sat in London.")
    assert loaded.answer(*asked) == trained.answer(*asked)
    before = frozen_weights(run)
    for name, array in loaded.model.contextual.model.arrays().items():
        assert array.tobytes() == before[name].tobytes(), name
    (line,) = embedder_of(elman.load(tmp_path / "run"), "run").embed(["John sat"])
    assert line.layers.shape == (3, 2, 12)


def layers_computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of sentences of each pass of a frozen model from now on."""
    passes: list[int] = []
    computed = BidirectionalModel.layers

    def layers(self: BidirectionalModel, sentences: Sentences) -> torch.Tensor:
        passes.append(len(sentences))
        return computed(self, sentences)

    monkeypatch.setattr(BidirectionalModel, "layers", layers)
    return passes


def test_its_layers_are_computed_once(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = layers_computed(monkeypatch)
    settings = [f"model.elmo={run}", "training.epochs=4"]
    once = small_tagger(tmp_path / "once", *settings)
    monkeypatch.setattr("elman.tasks.sentence_task._REMEMBERED", 0)
    few, passes[:] = len(passes), []
    again = small_tagger(tmp_path / "again", *settings)
    assert few < len(passes)
    sentences = once.task.reader.read(WORDS)
    torch.testing.assert_close(once.model.encoder(sentences), again.model.encoder(sentences))


def test_remembered_layers_are_those_of_the_model(run: Path) -> None:
    model, reader = Elmo.read(str(run)).build().eval(), SentenceReader(WordList.learn(WORDS))
    indexed = reader.index([*WORDS, [], ["London"]])
    rows = np.array([1, 0, 2, 3])
    with torch.no_grad():
        expected = model.layers(indexed.batch(rows))
    assert indexed.batch(rows).context is None
    indexed.remember(model.layers)
    context = indexed.batch(rows).context
    assert context is not None
    torch.testing.assert_close(context.movedim(2, 0), expected)
    part = indexed.batch(rows).rows(slice(1, 3)).context
    assert part is not None
    torch.testing.assert_close(part, context[1:3])
