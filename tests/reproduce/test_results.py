"""The results file: written atomically, and never replaced if it cannot be read."""

import json
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.experiments.reproduce.results import Cost, Kept, Result, keep, read_kept, write_kept

RESULT = Result(
    table="t",
    row="r",
    metric="perplexity",
    published=2.0,
    measured=1.5,
    verdict="better by 25 %",
    settings=("model.order=2",),
    data={"test": "0" * 64},
    teraflop=1.5,
)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    assert read_kept(path) == Kept()
    keep(path, result=RESULT)
    keep(path, costs={"run": Cost(seconds=2.5, teraflop=1.0)})
    kept = read_kept(path)
    assert kept.results == {"t/r": RESULT}
    assert kept.costs == {"run": Cost(seconds=2.5, teraflop=1.0)}
    assert [file.name for file in path.parent.iterdir()] == ["results.json"]


def test_an_older_result_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    keep(path, result=RESULT)
    keep(path, result=Result(**{**vars(RESULT), "measured": 1.0}))
    assert read_kept(path).results["t/r"].measured == 1.0


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    keep(path, result=RESULT)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("elman.atomic.os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_kept(path, Kept())
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    keep(path, result=RESULT)
    (tmp_path / "old").hardlink_to(path)  # would change with the file if it were written over
    write_kept(path, Kept())
    assert read_kept(path) == Kept()
    assert read_kept(tmp_path / "old").results


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": "other", "version": 1, "results": {}, "costs": {}}',
        '{"format": "elman reproduced", "version": 2, "results": {}, "costs": {}}',
        '{"format": "elman reproduced", "version": 1, "results": {"a": {"x": 1}}, "costs": {}}',
        '{"format": "elman reproduced", "version": 1, "results": {"a": {}}, "costs": {}}',
        '{"format": "elman reproduced", "version": 1, "results": [], "costs": {}}',
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a results file") as refused:
        keep(path, result=RESULT)
    assert "\n" not in str(refused.value)
    assert path.read_text() == text


def test_a_value_of_the_wrong_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    keep(path, result=RESULT)
    tree = json.loads(path.read_text())
    tree["results"]["t/r"]["measured"] = "low"
    path.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="measured='low'"):
        read_kept(path)


@pytest.mark.parametrize(
    ("seconds", "teraflop", "words"),
    [
        (1.9, None, "2 s"),
        (89, None, "89 s"),
        (780, 70.0, "13 min, 70 teraflop"),
        (30_000, 2884.0, "8.3 h, 2,884 teraflop"),
        (800_000, 67_458.0, "9.3 days, 67,458 teraflop"),
    ],
)
def test_costs_in_words(seconds: float, teraflop: float | None, words: str) -> None:
    assert str(Cost(seconds=seconds, teraflop=teraflop)) == words
