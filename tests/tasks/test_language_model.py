"""A trained model: the right text to measure, bit-exact saving and loading, adapters."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman
from elman.errors import InputError
from elman.evaluation.scoring import score_ids
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.reader import Document

LINES = [f"the {noun} {verb} ." for noun in ("cat", "dog", "bird") for verb in ("sees", "runs")]


def text_of(lines: int, seed: int = 0) -> str:
    random = np.random.default_rng(seed)
    return "".join(LINES[number] + "\n" for number in random.integers(0, len(LINES), lines))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("files")
    (place / "one.txt").write_text(text_of(100))
    (place / "other.txt").write_text(text_of(40, seed=1))
    (place / "folder").mkdir()
    for number, (split, lines) in enumerate({"train": 100, "valid": 40, "test": 60}.items()):
        (place / "folder" / f"{split}.txt").write_text(text_of(lines, seed=number))
    return place


@pytest.fixture(scope="module")
def model(files: Path) -> TrainedModel:
    return elman.train("ngram", data=str(files / "one.txt"))


def test_perplexity_of_a_text(model: TrainedModel) -> None:
    ids = model.tokenizer.encode("the cat runs .\n")
    nats = -model.model.log_probs(ids).sum()
    assert model.perplexity("the cat runs .\n") == pytest.approx(math.exp(nats / 5))
    # Without its newline the line end is not part of the text.
    nats = -model.model.log_probs(ids[:4]).sum()
    assert model.perplexity("the cat runs .") == pytest.approx(math.exp(nats / 4))


def test_batch_size_and_window_never_change_the_result(model: TrainedModel, files: Path) -> None:
    whole = model.evaluate(str(files / "other.txt"))
    for batch_size, window in [(3, None), (16, 7), (1, 1)]:
        cut = model.evaluate(str(files / "other.txt"), batch_size=batch_size, window=window)
        assert cut.nats == whole.nats
        np.testing.assert_array_equal(cut.line_nats, whole.line_nats)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"window": 0}, {"window": -5}])
def test_impossible_sizes_are_refused(
    model: TrainedModel, files: Path, wrong: dict[str, int]
) -> None:
    with pytest.raises(InputError, match="at least 1"):
        model.evaluate(str(files / "other.txt"), **wrong)


def test_a_lone_file_is_measured_as_a_whole(model: TrainedModel, files: Path) -> None:
    assert model.evaluate(str(files / "other.txt")).lines == 40
    assert model.evaluate(str(files / "other.txt"), split="test").lines == 2


def test_of_the_file_it_was_trained_on_only_the_test_part_is_measured(
    model: TrainedModel, files: Path, tmp_path: Path
) -> None:
    found = model.evaluate(str(files / "one.txt"))
    assert found.lines == 5
    assert "(test)" in found.protocol.text
    copy = tmp_path / "another-name.txt"
    copy.write_text(text_of(100))
    assert model.evaluate(str(copy)).lines == 5
    assert model.evaluate(str(files / "one.txt"), split="train").lines == 90


def test_a_folder_has_a_test_file_which_is_a_whole_on_its_own_too(files: Path) -> None:
    trained = elman.train("ngram", data=str(files / "folder"))
    inside = trained.evaluate(str(files / "folder"))
    alone = trained.evaluate(str(files / "folder" / "test.txt"))
    assert inside.lines == alone.lines == 60
    assert inside.nats == alone.nats


def test_a_split_that_is_not_there_is_refused(files: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(text_of(50))
    trained = elman.train("ngram", data=str(tmp_path))
    with pytest.raises(InputError, match="no 'test' split"):
        trained.evaluate(str(tmp_path))


def test_the_measurement_says_how_it_was_made(files: Path) -> None:
    line = elman.train("ngram", data=str(files / "one.txt"))
    other = str(files / "other.txt")
    protocol = line.evaluate(other).protocol
    assert protocol.unit == "words"
    assert protocol.state == "every line by itself"  # it forgets at line ends anyhow
    assert "<unk>" in protocol.unknown
    assert protocol.text.startswith(other)
    stream = elman.train("ngram-bytes", data=str(files / "one.txt"))
    assert stream.evaluate(other).protocol.state == "state carried from line to line"
    assert stream.evaluate(other, reset="line").protocol.state == "every line by itself"
    assert stream.evaluate(other).protocol.unknown == ""


def test_bits_per_byte_are_about_the_text_as_it_was_given(model: TrainedModel) -> None:
    # Words lose repeated spaces; but the text is the same for every tokenizer, so they compare.
    one = model.measure(Document("text", "the  cat   runs .\n"))
    two = model.measure(Document("text", "the cat runs .\n"))
    assert one.nats == two.nats
    assert (one.bytes, two.bytes) == (18, 15)


@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_to_measure(model: TrainedModel, text: str) -> None:
    with pytest.raises(InputError, match="empty text cannot be measured"):
        model.perplexity(text)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["a b", "c"], "give one text, not a list"),
        (None, "is of type NoneType; give a text"),
        (3, "is of type int; give a text"),
        (b"a b", r"is of type bytes; give a text: \w+.decode\(\)"),
    ],
)
def test_anything_but_one_text_is_refused(model: TrainedModel, wrong: Any, message: str) -> None:
    for call in (model.perplexity, model.surprisal, model.suggest, model.generate, model.stream):
        with pytest.raises(InputError, match=message):
            call(wrong)
    with pytest.raises(ValueError, match=message):
        model.ask("score", text=wrong)


def test_wrong_words_are_refused(model: TrainedModel) -> None:
    with pytest.raises(InputError, match="reset='word'"):
        model.perplexity("the cat", reset="word")
    with pytest.raises(InputError, match="reset='word'"):
        model.surprisal("the cat", reset="word")
    for base in (1.0, 0.5, -2.0):
        with pytest.raises(InputError, match="must be above 1"):
            model.surprisal("the cat", base=base)


@pytest.mark.parametrize(
    "recipe", ["ngram", "laplace", "ngram-characters", "ngram-bytes", "ngram-subwords"]
)
def test_a_loaded_model_scores_the_same_bits(recipe: str, files: Path, tmp_path: Path) -> None:
    saved = elman.train(recipe, data=str(files / "one.txt"), out=tmp_path / "run")
    loaded = elman.load(tmp_path / "run")
    text = "the bird sees a zebra .\n\nthe dog"
    ids = saved.tokenizer.encode(text)
    np.testing.assert_array_equal(loaded.tokenizer.encode(text), ids)
    scores = [score_ids(m.model, ids, eos_id=m.tokenizer.eos_id) for m in (saved, loaded)]
    np.testing.assert_array_equal(*scores)
    assert loaded.name == str(tmp_path / "run")
    assert loaded.config == saved.config
    assert loaded.facts == json.loads(json.dumps(saved.facts))
    assert loaded.generate("the", seed=3) == saved.generate("the", seed=3)


def test_no_run_where_one_was_expected(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run"):
        elman.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not an elman run folder"):
        elman.load(files)


def test_the_description_is_plain_data(model: TrainedModel) -> None:
    for trained in (model, model.with_adapters(["cache:weight=0.1"])):
        described = json.loads(json.dumps(trained.describe(), allow_nan=False))
        assert described["tokenizer"] == "words"
        assert described["training"]["data"]["lines"] == 90


def test_an_adapter_needs_a_weight_or_text_to_fit_it_on(model: TrainedModel, files: Path) -> None:
    own = model.facts["data"]["name"]
    model.facts["data"]["name"] = "no longer there"
    with pytest.raises(
        InputError, match="needs the data of the run, but .* as in cache:weight=0.1"
    ):
        model.with_adapters(["cache"])
    model.facts["data"]["name"] = own
    assert model.with_adapters(["cache"]).model.fitted  # on the data it was trained on
    given = model.with_adapters(["cache:weight=0.2"])
    assert given.model.describe()["weights"] == [0.8, 0.2]
    fitted = model.with_adapters(["cache"], str(files / "folder"))
    assert sum(fitted.model.describe()["weights"]) == pytest.approx(1)
    assert model.model.describe()["model"] == "ngram"  # the model itself is as it was


def test_the_weight_is_fitted_on_the_valid_split(model: TrainedModel, tmp_path: Path) -> None:
    texts = {"train": text_of(50), "valid": "cat cat cat cat dog dog dog\n", "test": text_of(50)}
    for split, text in texts.items():
        (tmp_path / f"{split}.txt").write_text(text)
    data = str(tmp_path)

    def nats(weight: float) -> float:
        adapted = model.with_adapters([f"cache:window=20,weight={weight}"])
        return adapted.evaluate(data, split="valid").nats

    fitted = model.with_adapters(["cache:window=20"], data)
    weight = fitted.model.describe()["weights"][1]
    assert weight > 0.3  # of no use in the other two
    best = fitted.evaluate(data, split="valid").nats
    assert all(best <= nats(other) + 1e-6 for other in (0, weight / 2, weight + 0.05, 0.1))


def test_mixing_wants_the_same_vocabulary(model: TrainedModel, files: Path, tmp_path: Path) -> None:
    small = ["model.order=2"]
    elman.train("ngram", data=str(files / "one.txt"), out=tmp_path / "same", overrides=small)
    mixed = model.with_adapters([f"mix:run={tmp_path / 'same'},weight=0.5"])
    assert mixed.perplexity("the cat runs .\n") > 1
    elman.train("ngram-bytes", data=str(files / "one.txt"), out=tmp_path / "bytes")
    with pytest.raises(InputError, match="the vocabularies differ"):
        model.with_adapters([f"mix:run={tmp_path / 'bytes'},weight=0.5"])


def test_an_adapted_model_is_not_saved(model: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a model with adapters cannot be saved"):
        model.with_adapters(["cache:weight=0.1"]).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()
