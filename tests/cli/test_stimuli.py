"""`elman surprisal` of a table of stimuli."""

import io
from pathlib import Path
from typing import Any

import pytest

SENTENCES = "item\tsentence\n1\tthe cat likes a dog .\n2\t\n3\tthe zebra .\n"
WORDS = "item\tword\trt\n1\tthe\t300\n1\tcat\t310\n1\t\t320\n1\tlikes\t330\n2\ta\t290\n"


@pytest.fixture(scope="module")
def files(place: Path) -> Path:
    (place / "sentences.tsv").write_text(SENTENCES)
    (place / "words.tsv").write_text(WORDS)
    return place


def table(text: str) -> list[dict[str, str]]:
    header, *rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_a_word_per_row(says: Any, gives: Any, files: Path) -> None:
    shown = says("surprisal", "words", "words.tsv")
    kept = [line.rsplit("\t", 5)[0] for line in shown.splitlines()]
    assert kept == WORDS.splitlines()  # row for row, as it was
    rows = table(shown)
    assert [rows[2][name] for name in ("surprisal", "entropy", "tokens", "unknown")] == ["NA"] * 4
    sentence = gives("surprisal", "words", "--text", "the cat likes")["words"]
    for row, word in zip([rows[0], rows[1], rows[3]], sentence, strict=True):
        assert float(row["surprisal"]) == pytest.approx(word["surprisal"], abs=1e-5)
        assert float(row["entropy"]) == pytest.approx(word["entropy"], abs=1e-5)
    (first,) = gives("surprisal", "words", "--text", "a")["words"]
    assert float(rows[4]["surprisal"]) == pytest.approx(first["surprisal"], abs=1e-5)


def test_a_sentence_per_row_and_several_runs(says: Any, gives: Any, files: Path) -> None:
    rows = table(says("surprisal", "words", "letters", "sentences.tsv"))
    for run in ("words", "letters"):
        words = gives("surprisal", run, "--text", "the cat likes a dog .")["words"]
        total = sum(word["surprisal"] for word in words)
        mean = sum(word["entropy"] for word in words) / len(words)
        assert float(rows[0][f"surprisal_{run}"]) == pytest.approx(total, abs=1e-5)
        assert float(rows[0][f"entropy_{run}"]) == pytest.approx(mean, abs=1e-5)
        assert int(rows[0][f"tokens_{run}"]) == sum(word["tokens"] for word in words)
        assert rows[1][f"surprisal_{run}"] == "NA"
    assert (rows[2]["unknown_words"], rows[2]["unknown_letters"]) == ("1", "1")
    nats = table(says("surprisal", "words", "sentences.tsv", "--base", "e"))
    bits = float(rows[0]["surprisal_words"])
    assert float(nats[0]["surprisal"]) == pytest.approx(bits * 0.693147, abs=1e-3)


def test_data_and_standard_input(gives: Any, monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    found = gives("surprisal", "words", "sentences.tsv")
    assert found["base"] == 2
    rows = found["rows"]
    assert rows[0]["item"] == "1"
    assert rows[0]["surprisal"] > 0
    assert rows[1]["surprisal"] is None
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SENTENCES.encode())))
    assert gives("surprisal", "words", "-", "--join") == found


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (["words", "letters", "data/test.txt"], "give a .tsv, .csv or .parquet file"),
        (["words", "--text", "the", "--join"], "give a .tsv, .csv or .parquet file"),
        (["words", "data/test.txt", "--by", "item"], "give a .tsv, .csv or .parquet file"),
        (["words", "words.tsv", "--by", "itm"], "did you mean 'item'"),
        (["words", "words.tsv", "--column", "x"], "no column 'x'"),
        (["words", "words.tsv", "--reset", "stream"], "sentences of a table are independent"),
        (["words", "nowhere.tsv"], "nowhere.tsv: no such file"),
    ],
)
def test_bad_input(call: Any, files: Path, arguments: list[str], culprit: str) -> None:
    result = call("surprisal", *arguments)
    assert result.code == 2
    assert culprit in result.err
    assert result.err.count("\n") == 1


def test_the_column_is_named_as_in_every_command(gives: Any, call: Any, files: Path) -> None:
    (files / "other.tsv").write_text(SENTENCES.replace("sentence", "stimulus of mine"))
    named = gives("surprisal", "words", "other.tsv", "--columns", "text=stimulus of mine")["rows"]
    assert [row["surprisal"] for row in named] == [
        row["surprisal"] for row in gives("surprisal", "words", "sentences.tsv")["rows"]
    ]
    assert call("surprisal", "words", "other.tsv", "--columns", "label=item").code == 2
