"""Minimal pairs: folders, means, and agreement in the built-in language."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import elman
from elman.errors import InputError
from elman.tasks.language_modelling.minimal_pairs import PairScores, judge, read_materials


def accuracies(scores: PairScores) -> dict[str, float | None]:
    return {score.name: score.accuracy for score in (*scores.by_paradigm, *scores.by_field)}


def test_a_bigram_is_at_chance_where_the_noun_is_out_of_sight(tmp_path: Path) -> None:
    model = elman.train("ngram", data="grammar", out=None, overrides=("model.order=2",))
    found = accuracies(judge(model, read_materials("grammar")))
    assert found["nothing between"] == 1.0
    assert found["verb apart from its noun"] == 0.5  # exactly, since pairs come in twins


@pytest.mark.slow
def test_an_lstm_sees_across_clauses(tmp_path: Path, without_curves: None) -> None:
    settings = ("training.epochs=3",)
    model = elman.train("small", data="grammar", out=tmp_path / "run", overrides=settings)
    found = accuracies(judge(model, read_materials("grammar")))
    assert found["verb next to its noun"] == 1.0
    assert (found["verb apart from its noun"] or 0) > 0.97


def entry(good: str, bad: str, paradigm: str) -> str:
    return json.dumps({"sentence_good": good, "sentence_bad": bad, "UID": paradigm}) + "\n"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder in the form of BLiMP: pairs in a subfolder, other files beside it."""
    folder = tmp_path / "blimp"
    (folder / "data" / "more").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "pairs.jsonl").write_text(entry("a b .", "b a .", "hidden"))
    (folder / "README.md").write_text("Pairs.\n")
    (folder / "summary.jsonl").write_text('{"UID": "order", "lstm": 0.5}\n')
    (folder / "package.json").write_text('{\n "name": "blimp"\n}\n')
    lines = [entry("boys walk .", "boy walk .", "number")] * 3
    lines.insert(1, entry("boys walk .", "boys walk .", "number"))
    with gzip.open(folder / "data" / "number.jsonl.gz", "wt") as file:
        file.writelines(lines)
    (folder / "data" / "more" / "order.jsonl").write_text(entry("boys walk .", "walk boys .", "o"))
    return folder


def test_a_published_folder_is_read_around_its_other_files(published: Path) -> None:
    read = read_materials(str(published))
    assert read.pairs == 4
    assert read.passed_over == ("README.md", "package.json", "summary.jsonl")
    (skipped,) = read.skipped
    assert (Path(skipped.file).name, skipped.line) == ("number.jsonl.gz", 2)
    assert read.to_data()["lines"] == 5 == read.pairs + len(read.skipped)
    assert read_materials(str(published / "data")).pairs == 4


def test_a_folder_that_contains_itself_ends(published: Path) -> None:
    (published / "data" / "again").symlink_to(published)
    assert read_materials(str(published)).pairs == 4


def test_a_folder_without_pairs_is_refused(published: Path) -> None:
    (published / "data" / "number.jsonl.gz").unlink()
    (published / "data" / "more" / "order.jsonl").unlink()
    with pytest.raises(InputError, match="no minimal pairs"):
        read_materials(str(published))


def test_the_mean_over_paradigms_weighs_each_alike(tmp_path: Path) -> None:
    model = elman.train("ngram", data="grammar", out=None, overrides=("model.order=2",))
    right = entry("boys walk .", "boys walks .", "large")
    wrong = entry("boys walks .", "boys walk .", "small")
    unknown = entry("zebras walk .", "boys walk .", "unknown")
    file = tmp_path / "pairs.jsonl"
    file.write_text(right * 3 + wrong + unknown)
    scores = judge(model, read_materials(str(file)))
    assert scores.overall.accuracy == 3 / 4
    assert scores.paradigm_mean == (1 + 0) / 2  # nothing was counted in the third
    assert [score.items for score in scores.by_paradigm] == [3, 1, 0]
    assert (scores.overall.excluded, scores.overall.excluded_share) == (1, 1 / 5)


def test_blimp_as_published(corpus: Callable[[str], Path]) -> None:
    folder = corpus("blimp")
    read = read_materials(str(folder))
    assert (read.pairs, len(read.skipped), len(read.contents)) == (66_993, 7, 67)
    assert {Path(line.file).name for line in read.skipped} == {
        "passive_1.jsonl.gz",
        "principle_A_case_2.jsonl.gz",
    }
    pairs = [pair for one in read.contents if isinstance(one, list) for pair in one]
    named = [pair for pair in pairs if pair.critical is not None]
    # 20 files name one prefix and 20 two; a few of their pairs are among the identical ones.
    skipped = len(read.skipped)
    assert 40_000 - skipped <= len(named) <= 40_000
    assert read_materials(str(folder / "data")).pairs == read.pairs
