"""`elman answer`, and `elman evaluate` of an answerer, as people and scripts call them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from facts import write_facts

import elman

PASSAGE = "Ada took the old lamp.  Otto went to\tthe park."


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with facts, an answerer, and a run of another task."""
    place = tmp_path_factory.mktemp("answers")
    write_facts(place / "facts", train=4, valid=2, test=2)
    small = ["model.num_layers=1", "model.hidden_size=4", "model.embedding_size=4"]
    small += ["training.epochs=0.5"]
    elman.train("answerer", data=str(place / "facts"), out=place / "run", overrides=small)
    elman.train("ngram", data="grammar", out=place / "words")
    return place


def test_one_question(says: Any, gives: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("answer", "run", "--question", "Who has the lamp?", "--passage")
    (found,) = gives(*asked, PASSAGE)["answers"]
    assert [*found] == ["id", "question", "answer", "start", "end", "probability"]
    assert found["answer"] == PASSAGE[found["start"] : found["end"]]
    assert says(*asked, PASSAGE) == " ".join(found["answer"].split()) + "\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PASSAGE.encode() + b"\n")))
    assert gives(*asked, "-")["answers"] == [found]


def test_a_file_of_questions(
    says: Any, gives: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = gives("answer", "run", "facts/test.json")["answers"]
    tree = json.loads((place / "facts" / "test.json").read_text())
    asked = [one for part in tree["data"][0]["paragraphs"] for one in part["qas"]]
    assert [(row["id"], row["question"]) for row in rows] == [
        (one["id"], one["question"]) for one in asked
    ]
    shown = [line.split("\t") for line in says("answer", "run", "facts/test.json").splitlines()]
    assert shown[0] == ["id", "answer", "start", "end", "probability"]
    assert [line[:4] for line in shown[1:]] == [
        [row["id"], row["answer"], str(row["start"]), str(row["end"])] for row in rows
    ]
    piped = (place / "facts" / "test.json").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
    assert gives("answer", "run", "-")["answers"] == rows


def test_questions_need_no_answers(gives: Any, place: Path) -> None:
    qas = [{"question": "Who?"}, {"question": "What?", "is_impossible": True}]
    tree = {"data": [{"paragraphs": [{"context": PASSAGE, "qas": qas}]}]}
    (place / "asked.json").write_text(json.dumps(tree))
    rows = gives("answer", "run", "asked.json")["answers"]
    assert [row["question"] for row in rows] == ["Who?", "What?"]


def test_evaluate(says: Any, gives: Any) -> None:
    found = gives("evaluate", "run", "--data", "facts")
    assert found["questions"] == 12
    assert 0 <= found["exact_match"] <= found["f1"] <= 1
    shown = says("evaluate", "run", "--data", "facts")
    assert "exact match" in shown
    assert "F1" in shown
    assert gives("evaluate", "run", "--data", "facts/valid.json")["questions"] == 12


QUESTION = ("--question", "Who?")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run"], "give --question and --passage, or a file"),
        (["run", *QUESTION], "give --question and --passage, or a file"),
        (["run", "facts/test.json", *QUESTION], "give either a file or --question and --passage"),
        (["run", "--question", "", "--passage", "x"], "--question is empty; give some text"),
        (["run", *QUESTION, "--passage", " "], "the passage of question is empty"),
        (["run", "nowhere.json"], "nowhere.json: no such file"),
        (["run", "-x"], "unknown option -x"),
        (
            ["words", *QUESTION, "--passage", "x"],
            "words: a run of the model 'ngram' does not support",
        ),
        (["nowhere", *QUESTION, "--passage", "x"], "nowhere: "),
    ],
)
def test_what_is_refused(call: Any, arguments: list[str], line: str) -> None:
    result = call("answer", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"elman: {line}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("no JSON", "bad.json: is not JSON"),
        ('{"version": "1.1"}', "bad.json: has no data at the top"),
        ('{"data": [{"paragraphs": [{"context": "a b"}]}]}', "data 1, paragraph 1: has no 'qas'"),
    ],
)
def test_a_file_that_is_something_else(call: Any, place: Path, written: str, line: str) -> None:
    (place / "bad.json").write_text(written)
    commands = [["answer", "run", "bad.json"], ["evaluate", "run", "--data", "bad.json"]]
    commands += [["train", "answerer", "--data", "bad.json", "--out", "other"]]
    for command in commands:
        result = call(*command)
        assert (result.code, result.out) == (2, ""), command
        (said,) = (words for words in result.err.splitlines() if not words.endswith("…"))
        assert line in said
