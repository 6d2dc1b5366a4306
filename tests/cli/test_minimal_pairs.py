"""`elman minimal-pairs`, as people and scripts call it."""

import io
import json
import re
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
        {"sentence_good": "Zebras like a dog.", "sentence_bad": "A dog."},
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
    # Accuracy, items that were counted, excluded; the letters know every word, but not Z.
    assert ["upside", "down", "0.0", "1", "0", "0.0", "1", "0"] in rows
    assert ["order", "100.0", "1", "1", "100.0", "2", "0"] in rows
    assert ["words", "2", "1", "9.5–90.5", "0", "2", "50.0", "0.0"] in rows
    assert "differ in an unknown word" in result.err
    assert "cover different items" in result.err


def test_items_are_those_that_were_counted(says: Any, files: Path) -> None:
    header, _, *rows = says("minimal-pairs", "words", "pairs/pairs.jsonl").splitlines()
    assert header.split() == ["accuracy", "in", "%", "items", "excluded", "words"]
    found = [row.split() for row in rows]
    assert ["order", "1", "1", "100.0"] in found
    assert ["pairs", "0", "1", "–"] in found
    assert ["mean", "over", "all", "items", "2", "2", "50.0"] in found
    assert ["mean", "over", "paradigms", "–", "–", "50.0"] in found


@pytest.mark.parametrize(
    ("rule", "counted", "excluded", "ties"),
    [("differing", 2, 2, 0), ("any", 2, 2, 0), ("never", 4, 0, 1)],
)
def test_unknown_words(
    gives: Any, files: Path, rule: str, counted: int, excluded: int, ties: int
) -> None:
    (words,) = gives("minimal-pairs", "words", "pairs/pairs.jsonl", "--exclude-unknown", rule)
    overall = words["overall"]
    assert (overall["items"], overall["excluded"], overall["ties"]) == (counted, excluded, ties)
    assert overall["excluded_share"] == excluded / 4


def test_skipped_lines_and_files_are_reported(call: Any, files: Path, place: Path) -> None:
    folder = place / "mixed"
    (folder / "data").mkdir(parents=True)
    same = json.dumps({"sentence_good": GOOD, "sentence_bad": GOOD})
    lines = [(files / "one.jsonl").read_text(), same, "nonsense", same]
    (folder / "data" / "order.jsonl").write_text("\n".join(lines))
    (folder / "README.md").write_text("Read me.")
    result = call("minimal-pairs", "words", "mixed")
    assert result.code == 0
    assert "skipped 1 file without minimal pairs: README.md" in result.err
    assert "order.jsonl: skipped 2 lines (2, 4): the two sentences are identical" in result.err
    assert "order.jsonl: skipped 1 line (3): is not JSON" in result.err
    assert "4 lines read: 1 pairs used, 3 skipped" in result.err
    (data,) = json.loads(call("minimal-pairs", "words", "mixed", "--json").out)
    material = data["material"]
    assert (material["lines"], material["pairs"], len(material["skipped"])) == (4, 1, 3)
    assert material["passed_over"] == ["README.md"]


def test_only_the_difference(gives: Any, files: Path) -> None:
    options = ("pairs/one.jsonl", "--items", "--score")
    (sentence,) = gives("minimal-pairs", "words", *options, "sentence")
    (difference,) = gives("minimal-pairs", "words", *options, "difference")
    whole, part = sentence["items"][0], difference["items"][0]
    assert (whole["good_tokens"], part["good_tokens"]) == (7, 3)  # likes a dog
    assert part["good_log_probability"] > whole["good_log_probability"]


def test_the_data(gives: Any, files: Path) -> None:
    (words,) = gives("minimal-pairs", "words", "pairs/pairs.jsonl", "--items")
    assert words["run"] == "words"
    assert (words["overall"]["items"], words["overall"]["right"]) == (2, 1)
    assert words["overall"]["excluded"] == 2
    assert words["paradigm_mean"] == 0.5
    names = [score["name"] for score in words["paradigms"]]
    assert names == ["order", "upside down", "pairs"]
    assert words["items"][3]["good"] == "zebras like a dog ."  # marks apart, as it was trained
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
        (["words"], "give one or more runs"),
        (["words", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["words", "data"], "data: no minimal pairs found"),
        (["words", "data/test.txt"], "data/test.txt, line 1: is not JSON"),
        (["nowhere", "grammar"], "nowhere"),
        (["words", "grammar", "--nonsense"], "--nonsense"),
        (["words", "pairs", "--items"], "different columns"),
        (["words", "grammar", "--score", "word"], "choose one of sentence, difference"),
        (["words", "grammar", "--exclude-unknown", "all"], "choose one of differing, any, never"),
    ],
)
def test_bad_input(call: Any, files: Path, arguments: list[str], culprit: str) -> None:
    result = call("minimal-pairs", *arguments)
    assert result.code == 2
    assert culprit in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cümle.tsv", "cümle\tsayı\nAli [okudu|okundu] .\t0\n"),
        ("cümle.csv", "cümle;sayı\nAli [okudu|okundu] .;0\n"),
        ("pair.csv", "iyi,kötü\nAli okudu .,Ali okundu .\n"),
    ],
)
def test_a_table_with_other_names_asks_for_columns(
    call: Any, place: Path, name: str, text: str
) -> None:
    (place / name).write_text(text)
    result = call("minimal-pairs", "words", name)
    assert result.code == 2
    assert "which columns are the pair? Name them: --columns" in result.err
    names = ", ".join(re.split(r"[,;\t]", text.splitlines()[0]))
    assert f"there are {names})" in result.err


@pytest.fixture(scope="module")
def agreement(place: Path) -> Path:
    """Marked forms with numbers of attractors; the small language prefers `sees` after cat."""
    rows = [
        f"the {noun} ___ a dog .\t{good}\t{bad}\t{attractors}"
        for noun, good, bad in (("dog", "sees", "cat"), ("bird", "hears", "dog"))
        for attractors in (0, 1, 2)
    ]
    file = place / "agreement.tsv"
    file.write_text("\n".join(["sentence\tgood\tbad\tn_attr", *rows]) + "\n")
    return file


def test_attractors_intervals_and_the_paired_test(call: Any, place: Path, agreement: Path) -> None:
    given = ("minimal-pairs", "words", "upper=laplace", "agreement.tsv", "--score", "difference")
    result = call(*given, "--intervals", "--picture", "attractors.png")
    assert result.code == 0, result.err
    assert "attractors: 2" in result.out
    assert "34.2–100.0" in result.out  # Wilson, 2 of 2
    assert "upper − words" in result.out
    assert (place / "attractors.png").stat().st_size > 5000
    data = json.loads(call(*given, "--json").out)
    assert [one["name"] for one in data[0]["attractors"]] == ["0", "1", "2"]
    assert data[0]["compared"] is None
    assert data[1]["compared"]["overall"]["items"] == 6
    low, high = data[0]["overall"]["low"], data[0]["overall"]["high"]
    assert low < data[0]["overall"]["accuracy"] <= high


def test_prefix_methods_choose_their_pairs(call: Any, place: Path, files: Path) -> None:
    lines = [
        {
            "sentence_good": GOOD, "sentence_bad": "the cat dog a dog .",
            "one_prefix_prefix": "the cat", "one_prefix_word_good": "likes",
            "one_prefix_word_bad": "dog", "UID": "one",
        },
        {
            "sentence_good": GOOD, "sentence_bad": "a cat likes a dog .",
            "two_prefix_prefix_good": "the cat", "two_prefix_prefix_bad": "a cat",
            "two_prefix_word": "likes", "UID": "two",
        },
    ]  # fmt: skip
    (place / "methods.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for method, paradigm in (("one-prefix", "one"), ("two-prefix", "two")):
        data = json.loads(
            call("minimal-pairs", "words", "methods.jsonl", "--score", method, "--json").out
        )
        assert [one["name"] for one in data[0]["paradigms"]] == [paradigm]
    refused = call("minimal-pairs", "words", "pairs/one.jsonl", "--score", "one-prefix")
    assert refused.code == 2
    assert "one-prefix method" in refused.err


def test_columns_by_name_and_mixtures(says: Any, place: Path) -> None:
    (place / "odd.csv").write_text(f'yes,no\n"{GOOD}","{BAD}"\n')
    shown = says(
        "minimal-pairs", "mixed=words+mix:run=laplace,weight=0.5", "odd.csv",
        "--columns", "good=yes,bad=no",
    )  # fmt: skip
    assert "mixed" in shown
