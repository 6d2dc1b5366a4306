"""`elman minimal-pairs`, as people and scripts call it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

GOOD, BAD = "the cat likes a dog .", "the cat dog a likes ."


@pytest.fixture(scope="module")
def files(place: Path) -> Path:
    folder = place / "pairs"
    folder.mkdir()
    lines = [
        {"sentence_good": GOOD, "sentence_bad": BAD, "UID": "order", "field": "syntax"},
        {"sentence_good": BAD, "sentence_bad": GOOD, "UID": "upside down", "field": "syntax"},
        {"sentence_good": "the zebra .", "sentence_bad": "the zebras .", "UID": "order"},
        {"sentence_good": "The cat likes a dog.", "sentence_bad": "A dog."},
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "one.jsonl").write_text(json.dumps(lines[0]))
    regions = [
        [{"region_number": n, "content": c} for n, c in enumerate(text.split(), 1)]
        for text in (GOOD, BAD)
    ]
    names = ("right", "wrong")
    conditions = [
        {"condition_name": name, "regions": r} for name, r in zip(names, regions, strict=True)
    ]
    suite = {
        "meta": {"name": "order", "metric": "sum"},
        "predictions": [{"type": "formula", "formula": "(*;%wrong%) > (*;%right%)"}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }
    (folder / "suite.json").write_text(json.dumps(suite, indent=1))
    return folder


def test_the_table(call: Any, files: Path) -> None:
    result = call("minimal-pairs", "words", "letters", "pairs/pairs.jsonl")
    assert result.code == 0
    rows = [line.split() for line in result.out.splitlines()]
    assert ["upside", "down", "1", "0.0", "0.0"] in rows
    assert ["order", "2", "100.0", "100.0"] in rows
    assert ["words", "2", "0", "2", "0.0"] in rows  # zebras tie; "The" is unknown
    assert "all of whose words are known" in result.err


def test_the_data(gives: Any, files: Path) -> None:
    (words,) = gives("minimal-pairs", "words", "pairs/pairs.jsonl", "--items")
    assert words["run"] == "words"
    assert (words["overall"]["items"], words["overall"]["right"]) == (2, 1)
    assert words["overall"]["unknown_items"] == 2
    names = [score["name"] for score in words["paradigms"]]
    assert names == ["order", "upside down", "pairs"]
    assert words["items"][3]["good"] == "The cat likes a dog ."  # marks apart, as it was trained
    assert words["items"][0]["good_log_probability"] > words["items"][0]["bad_log_probability"]
    assert words["items"][2]["tie"] is True


def test_items_and_suites(says: Any, files: Path) -> None:
    header, row = says("minimal-pairs", "words", "pairs/suite.json", "--items").splitlines()
    found = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert (found["paradigm"], found["right"], found["unknown"]) == ("order", "1", "0")
    assert found["surprisals"].startswith("(*;%right%)=")


def test_a_folder_and_standard_input(
    gives: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder,) = gives("minimal-pairs", "words", "pairs")
    assert folder["overall"]["items"] == 1 + 2 + 1
    given = (files / "one.jsonl").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    (piped,) = gives("minimal-pairs", "words", "-")
    assert piped["overall"]["items"] == 1


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["words"], "give at least one run"),
        (["words", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["words", "data"], "data: has no files that end in .jsonl"),
        (["words", "data/test.txt"], "data/test.txt, line 1: is not JSON"),
        (["nowhere", "grammar"], "nowhere"),
        (["words", "grammar", "--nonsense"], "--nonsense"),
        (["words", "pairs", "--items"], "different columns"),
    ],
)
def test_bad_input(call: Any, files: Path, arguments: list[str], culprit: str) -> None:
    result = call("minimal-pairs", *arguments)
    assert result.code == 2
    assert culprit in result.err
    assert result.err.count("\n") == 1
