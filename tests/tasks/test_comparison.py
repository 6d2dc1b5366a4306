"""Comparison of models: which may be compared, and significance of differences."""

import json
from pathlib import Path

import numpy as np
import pytest

import elman
from elman.errors import InputError
from elman.evaluation.bootstrap import paired_bootstrap
from elman.tasks.language_modelling.comparison import FEWEST_LINES
from elman.tasks.language_modelling.trained import TrainedModel


def text_of(lines: int, seed: int) -> str:
    random = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return "".join(
        f"the {nouns[a]} {verbs[a - 1]} a {nouns[b]} .\n"
        for a, b in random.integers(0, 3, (lines, 2))
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    for number, (split, lines) in enumerate({"train": 200, "valid": 20, "test": 80}.items()):
        (place / f"{split}.txt").write_text(text_of(lines, number))
    return place


@pytest.fixture(scope="module")
def models(folder: Path) -> dict[str, TrainedModel]:
    recipes = {"kn": "ngram", "laplace": "laplace", "letters": "ngram-characters"}
    found = {name: elman.train(recipe, data=str(folder)) for name, recipe in recipes.items()}
    for name, model in found.items():
        model.name = name
    return found


def test_the_others_against_the_first(models: dict[str, TrainedModel], folder: Path) -> None:
    laplace, kn = elman.compare([models["laplace"], models["kn"]], str(folder))
    assert (laplace.name, kn.name) == ("laplace", "kn")
    assert laplace.against_first is None
    assert kn.against_first is not None
    assert kn.measurement.nats == models["kn"].evaluate(str(folder)).nats
    expected = kn.measurement.nats - laplace.measurement.nats
    assert kn.against_first.difference == pytest.approx(expected)
    assert expected < 0
    assert kn.against_first.p_value < 0.01
    assert kn.against_first == paired_bootstrap(
        laplace.measurement.line_nats, kn.measurement.line_nats
    )


def test_the_same_model_twice(models: dict[str, TrainedModel], folder: Path) -> None:
    _, again = elman.compare([models["kn"], models["kn"]], str(folder))
    assert again.against_first is not None
    assert again.against_first.p_value == 1


def test_perplexities_compare_over_the_same_tokens_only(
    models: dict[str, TrainedModel], folder: Path
) -> None:
    rows = elman.compare([models["kn"], models["laplace"], models["letters"]], str(folder))
    assert [row.perplexity_comparable for row in rows] == [True, True, False]
    # The text is the same, so its bytes are, and bits per byte compare.
    assert len({row.measurement.bytes for row in rows}) == 1
    assert rows[2].against_first is not None


def test_unknown_words_are_no_advantage(models: dict[str, TrainedModel], folder: Path) -> None:
    few = ["text.vocabulary_size=4", "text.tokenizer=words"]
    cut = elman.train("ngram", data=str(folder), overrides=few)
    alike = elman.train("laplace", data=str(folder), overrides=few)
    found = elman.compare([models["letters"], cut, alike], str(folder))
    share = found[1].measurement.unknown_share
    assert share > 0.2
    assert found[1].measurement.nats < found[0].measurement.nats  # it spells nothing
    assert found[1].cells()["out-of-vocabulary"] == f"{share:.1%}"
    assert "out-of-vocabulary" not in found[0].cells()
    by_cut, _, same_words = found.pairs
    assert by_cut.result.significant
    assert by_cut.better is None
    assert by_cut.not_ranked in found.notes
    assert f"reads {share:.1%} of its tokens as <unk>" in by_cut.not_ranked
    assert same_words.better == cut.name  # the vocabulary is the same
    assert not same_words.not_ranked


def test_as_many_words_are_not_the_same_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text(text_of(200, 9).replace("cat", "cow"))
    size = ["text.vocabulary_size=8"]
    ours = elman.train("ngram", data=str(folder), overrides=size)
    theirs = elman.train("ngram", data=str(tmp_path / "other.txt"), overrides=size)
    assert len(ours.tokenizer) == len(theirs.tokenizer)
    rows = elman.compare([ours, theirs], str(folder))
    assert [row.perplexity_comparable for row in rows] == [True, False]


def test_blanks_after_the_last_line_are_a_line_to_some(
    models: dict[str, TrainedModel], tmp_path: Path
) -> None:
    (tmp_path / "blanks.txt").write_text(text_of(50, 5) + "  ")
    words, letters = elman.compare([models["kn"], models["letters"]], str(tmp_path / "blanks.txt"))
    assert (words.measurement.lines, letters.measurement.lines) == (50, 51)
    assert letters.against_first is not None
    difference = letters.measurement.nats - words.measurement.nats
    assert letters.against_first.difference == pytest.approx(difference)


def test_a_few_lines_prove_nothing(models: dict[str, TrainedModel], tmp_path: Path) -> None:
    for lines, says_something in [(1, False), (FEWEST_LINES - 1, False), (FEWEST_LINES, True)]:
        path = tmp_path / f"{lines}.txt"
        path.write_text(text_of(lines, 6))
        _, other = elman.compare([models["laplace"], models["kn"]], str(path))
        assert (other.against_first is not None) is says_something


def test_infinite_differences_are_not_drawn_from(
    models: dict[str, TrainedModel], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "more.txt").write_text("the zebra sees a cat .\n" * 20)
    raw = ["model.smoothing=maximum-likelihood", "model.order=1"]
    frequencies = elman.train("ngram", data=str(folder), overrides=raw)
    _, other = elman.compare([models["kn"], frequencies], str(tmp_path / "more.txt"))
    assert other.measurement.impossible == 20
    assert other.against_first is None


def test_rows_are_plain_data(models: dict[str, TrainedModel], folder: Path) -> None:
    rows = elman.compare([models["kn"], models["letters"]], str(folder), reset="line")
    first, second = json.loads(json.dumps([row.to_data() for row in rows], allow_nan=False))
    assert first["run"] == "kn"
    assert first["against_first"] is None
    assert second["perplexity_comparable"] is False
    assert set(second["against_first"]) == {"difference", "low", "high", "p_value", "draws"}
    assert second["protocol"]["state"] == "every line by itself"


def test_the_split_can_be_chosen(models: dict[str, TrainedModel], folder: Path) -> None:
    (row,) = elman.compare([models["kn"]], str(folder), split="valid")
    assert row.measurement.lines == 20


def test_a_file_that_any_of_them_used_is_measured_on_its_test_part(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat sees the dog .\nthe dog runs .\n" * 40)
    trained = elman.train("ngram", data=str(tmp_path / "text.txt"))
    stranger = elman.train("ngram", data="grammar")
    for pair in ([trained, stranger], [stranger, trained]):
        rows = elman.compare(pair, str(tmp_path / "text.txt"))
        assert {row.measurement.lines for row in rows} == {4}


def test_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="at least one run"):
        elman.compare([], "grammar")
