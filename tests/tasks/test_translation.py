"""Translation as a task: training, saving, use; outputs in the order of inputs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import draw_pairs, train_translator, write_captions, write_parallel

import elman
from elman.errors import InputError
from elman.runs.folder import read_run, update_run
from elman.tasks.translation.trained import TrainedTranslator

pytestmark = pytest.mark.usefixtures("without_curves")

SOURCES = [source for source, _ in draw_pairs(20, 9)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("translation")
    write_parallel(place / "data")
    write_captions(place / "captions")
    return place


@pytest.fixture(scope="module")
def trained(place: Path, without_curves: None) -> TrainedTranslator:
    """One that has learned something, so that its outputs differ."""
    settings = ("training.epochs=25", "model.hidden_size=24", "model.embedding_size=16")
    model: TrainedTranslator = train_translator(place / "data", place / "run", *settings)
    return model


@pytest.fixture(scope="module")
def captioner(place: Path, without_curves: None) -> TrainedTranslator:
    settings = ("text.source=npz", "text.target=txt", "training.epochs=4")
    model: TrainedTranslator = train_translator(place / "captions", place / "pictures", *settings)
    return model


def test_what_training_tells(trained: TrainedTranslator) -> None:
    data = trained.facts["data"]
    assert (data["examples"], data["unit"]) == (120, "pairs")
    assert (data["source_tokens"], data["target_tokens"]) == (8, 8)  # and <eos>, <unk>
    assert trained.facts["task"] == {"tokenizers": ["words"] * 2, "growth": 1.0, "too_long": 0}
    assert 1 < trained.facts["validation"]["perplexity"] < 6


def test_it_learns_and_comes_back_from_disk(trained: TrainedTranslator, place: Path) -> None:
    measures = trained.evaluate(str(place / "data"), beam=1)
    assert measures.whole.bleu > 20
    assert measures.whole.lines == 20
    assert "tok:none" in measures.signatures["bleu"]
    loaded: Any = elman.load(place / "run")
    assert loaded.translate(SOURCES) == trained.translate(SOURCES)
    assert len({*loaded.translate(SOURCES)}) > 10


def test_batch_sizes_and_neighbours_change_nothing(trained: TrainedTranslator) -> None:
    for beam in (1, 4):
        whole = trained.translate(SOURCES, beam=beam)
        for size in (1, 7, 64):
            assert trained.translate(SOURCES, beam=beam, batch_size=size) == whole
        assert trained.translate(SOURCES[:1], beam=beam) == whole[:1]


def test_empty_sources_and_unknown_words_keep_their_place(trained: TrainedTranslator) -> None:
    given = ["", SOURCES[0], "   ", "xyzzy plugh", SOURCES[1]]
    found = trained.translate(given)
    assert len(found) == 5
    assert (found[0], found[2]) == ("", "")
    assert [found[1], found[4]] == trained.translate([SOURCES[0], SOURCES[1]])
    assert "<unk>" not in found[3]
    assert trained.translate([]) == []


def test_n_best_are_different_and_ranked(trained: TrainedTranslator) -> None:
    (texts,) = trained.search(SOURCES[:1], beam=4, n_best=4, length_penalty=0)
    assert len({text.text for text in texts}) == 4
    assert [text.score for text in texts] == sorted((t.score for t in texts), reverse=True)
    pairs = [(SOURCES[0], text.text) for text in texts]
    assert trained.score(pairs) == pytest.approx([text.log_prob for text in texts], abs=1e-4)


def test_sampling_is_seeded(trained: TrainedTranslator) -> None:
    def drawn(**options: Any) -> list[list[str]]:
        found = trained.search(SOURCES[:3], beam=None, samples=3, **options)
        return [[text.text for text in texts] for texts in found]

    assert drawn(seed=1) == drawn(seed=1) == drawn(seed=1, batch_size=1)
    assert drawn(seed=1, temperature=3.0) != drawn(seed=2, temperature=3.0)


def test_samples_do_not_depend_on_the_batch_size(trained: TrainedTranslator) -> None:
    """At a high temperature texts are as long as they may be; short sources allow fewer tokens."""
    sources = ["dog", " ".join(SOURCES), "", SOURCES[0]]
    options: dict[str, Any] = {"beam": None, "temperature": 50.0, "samples": 2, "seed": 3}
    together = trained.search(sources, **options)
    for size in (1, 2, 3):
        assert trained.search(sources, batch_size=size, **options) == together
    assert trained.search(sources[:1], **options) == together[:1]


def test_a_smallest_length_is_kept_whatever_stands_beside(trained: TrainedTranslator) -> None:
    options: dict[str, Any] = {"min_tokens": 30, "length_penalty": 0.0}
    together = trained.search(["dog", " ".join(SOURCES)], **options)
    apart = trained.search(["dog", " ".join(SOURCES)], batch_size=1, **options)
    assert [text[0].text for text in apart] == [text[0].text for text in together]
    assert len(apart[0][0].ids) >= 30


def test_a_run_of_0_1_0_with_dot_products_gives_the_same_answers(
    place: Path, tmp_path: Path
) -> None:
    """It had a matrix between vectors of different sizes, as bilinear attention has."""
    for name, options in (("dot", {}), ("scaled-dot", {"scaled": True})):
        settings = ["model.attention=bilinear", "training.epochs=1"]
        settings += [f"model.attention_options.{key}=true" for key in options]
        now = train_translator(place / "data", tmp_path / name, *settings)
        contents = read_run(tmp_path / name)
        saved = contents["config.json"]
        saved["model"] |= {"attention": name, "attention_options": {}}
        update_run(tmp_path / name, {"config.json": saved})
        before: Any = elman.load(tmp_path / name)
        assert before.translate(SOURCES) == now.translate(SOURCES)
        assert before.score(draw_pairs(5, 5)) == now.score(draw_pairs(5, 5))
        assert before.model.config.attention == "bilinear"


def test_scores_do_not_depend_on_what_stands_beside(trained: TrainedTranslator) -> None:
    pairs = draw_pairs(10, 5)
    together = trained.score(pairs)
    apart = [trained.score([pair])[0] for pair in pairs]
    assert together == pytest.approx(apart, abs=1e-4)
    assert max(together) < 0


def test_alignments_are_distributions(trained: TrainedTranslator) -> None:
    first, empty = trained.alignments([("the dog sees", "der Hund"), ("", "der")])
    assert first.source == ["the", "dog", "sees", "<eos>"]
    assert first.target == ["der", "Hund", "<eos>"]
    assert first.weights.shape == (3, 4)
    assert np.allclose(first.weights.sum(1), 1, atol=1e-5)
    assert empty.source == []


def test_captions(captioner: TrainedTranslator, place: Path) -> None:
    assert captioner.facts["data"]["features"] == captioner.config.model.features == 2
    assert captioner.evaluate(str(place / "captions")).whole.lines == 20
    loaded: Any = elman.load(place / "pictures")
    grids = [np.ones((2, 2)), np.zeros((4, 2)), np.ones((1, 2))]
    assert loaded.translate(grids) == captioner.translate(grids, batch_size=1)
    with pytest.raises(InputError, match="source 2: its vectors have 3 numbers; .* with 2"):
        captioner.translate([np.ones((1, 2)), np.ones((1, 3))])
    with pytest.raises(InputError, match="source 1 is a text; this run reads vectors"):
        captioner.translate(["a"])


@pytest.mark.parametrize(
    "settings",
    [
        ("text.shared=true", "text.tokenizer=bpe", "text.vocabulary_size=300"),
        ("text.tokenizer=raw-words", "text.target_tokenizer=characters"),
        ("model.attention=none", "model.context=start", "text.tokenizer=unigram"),
        ("text.lowercase=true", "model.attend=after", "model.input_feeding=true"),
        ("training.regime=scheduled-sampling",),
    ],
)
def test_other_settings(place: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
    few = "training.epochs=0.3"
    trained = train_translator(place / "data", tmp_path / "run", *settings, few)
    loaded: Any = elman.load(tmp_path / "run")
    assert loaded.translate(SOURCES[:3]) == trained.translate(SOURCES[:3])
    shared = trained.task.source is trained.task.target
    assert shared == ("text.shared=true" in settings)


def test_long_pairs_are_left_out_and_counted(place: Path) -> None:
    trained = train_translator(place / "data", None, "text.longest=4", "training.epochs=0.3")
    assert 0 < trained.facts["task"]["too_long"] < 120
    with pytest.raises(InputError, match="all 120 pairs are longer than text.longest=1"):
        train_translator(place / "data", None, "text.longest=1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("model.features=3",), "model.features=3: the sources are text"),
        (("text.source=fr",), "test.de: has no other side; put test.fr beside it"),
        (("text.tokenizer=wrds",), "unknown tokenizer 'wrds'"),
    ],
)
def test_what_is_refused(place: Path, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_translator(place / "data", None, *settings)


def test_alignments_need_attention(place: Path) -> None:
    blind = train_translator(place / "data", None, "model.attention=none", "training.epochs=0.2")
    with pytest.raises(InputError, match="was trained without attention"):
        blind.alignments([("the dog", "der Hund")])


def test_names_that_were_never_seen_are_copied(tmp_path: Path) -> None:
    """Of `NAME sees NAME` the names from the end; those of the test are in no other split."""
    drawn = np.random.default_rng(3)
    data = tmp_path / "data"
    data.mkdir()
    for split, count in {"train": 400, "valid": 20, "test": 10}.items():
        names = [f"{split}{number}" for number in range(2 * count)]
        rows = [drawn.choice(names, 2) for _ in range(count)]
        text = "".join(f"{a} sees {b}\t{b} {a}\n" for a, b in rows)
        (data / f"{split}.tsv").write_text(text)
    settings = ("text.min_count=4", "model.copy=true", "text.shared=true", "training.epochs=25")
    settings += ("model.hidden_size=24", "model.embedding_size=16", "training.validate_every=5")
    settings += ("model.dropout_input=0", "model.dropout_output=0", "training.learning_rate=0.006")
    trained = train_translator(data, tmp_path / "run", *settings)
    assert trained.evaluate(str(data)).whole.exact == 1.0
    loaded: Any = elman.load(tmp_path / "run")
    assert loaded.translate(["xyzzy sees plugh", "", "b sees a"]) == ["plugh xyzzy", "", "a b"]
    (written,) = loaded.search(["xyzzy sees plugh"], length_penalty=0)
    (score,) = loaded.score([("xyzzy sees plugh", "plugh xyzzy")])
    assert score == pytest.approx(written[0].log_prob, abs=1e-4)
    (alignment,) = loaded.alignments([("xyzzy sees plugh", "plugh xyzzy")])
    assert alignment.target == ["plugh", "xyzzy", "<eos>"]


def test_one_text_in_place_of_a_list_is_refused(trained: TrainedTranslator) -> None:
    """Otherwise every letter would be a source."""
    model: Any = trained
    calls: list[Callable[[], object]] = [
        lambda: model.translate("a b"),
        lambda: model.search("a b", n_best=1),
        lambda: model.ask("translate", texts="a b"),
        lambda: model.score("a b"),
    ]
    for call in calls:
        with pytest.raises(InputError, match="is a single text; give a list of"):
            call()
    for wrong in (["ab", "cd"], ("ab", "cd"), [("a", "b", "c")]):
        for call in (model.score, model.alignments):
            with pytest.raises(InputError, match=r"pairs\[0\] is not a pair; give a list of pairs"):
                call(wrong)
    with pytest.raises(ValueError, match=r"source 2 is missing \(None\)"):
        model.translate(["a", None])
