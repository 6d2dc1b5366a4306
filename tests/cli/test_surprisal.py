"""`elman surprisal`, as people and scripts call it."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def test_surprisal(says: Any, gives: Any, tmp_path: Path) -> None:
    shown = says("surprisal", "words", "--text", "the zebra\n").splitlines()
    assert shown[0].split("\t")[:4] == ["line", "position", "word", "surprisal"]
    assert [line.split("\t")[2] for line in shown[1:]] == ["the", "zebra", "<eos>"]
    assert [line.split("\t")[-1] for line in shown[1:]] == ["0", "1", "0"]
    rows = gives("surprisal", "words", "--text", "the zebra\n")["words"]
    assert [row["word"] for row in rows] == ["the", "zebra", "<eos>"]
    for line, row in zip(shown[1:], rows, strict=True):
        assert float(line.split("\t")[3]) == pytest.approx(row["surprisal"], abs=1e-6)
    (tmp_path / "text.txt").write_text("the zebra\n")
    assert gives("surprisal", "words", str(tmp_path / "text.txt"))["words"] == rows


def test_surprisal_of_standard_input(gives: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the “ cat ”\na dog"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    piped = gives("surprisal", "words", "-", "--base", "e")
    assert piped == gives("surprisal", "words", "--text", text, "--base", "e")


def test_surprisal_options(gives: Any) -> None:
    two, e, ten = (
        gives("surprisal", "letters", "--text", "the cat\n", "--base", base)["words"][0][
            "surprisal"
        ]
        for base in ("2", "e", "10")
    )
    assert two * np.log(2) == pytest.approx(e)
    assert ten * np.log(10) == pytest.approx(e)
    text = "the cat sees a dog .\nthe bird"
    line, stream = (
        gives("surprisal", "letters", "--text", text, "--reset", reset)["words"]
        for reset in ("line", "stream")
    )
    assert line[:5] == stream[:5]
    assert line != stream
    cached = gives("surprisal", "words", "--text", text, "--with", "cache:weight=0.3")["words"]
    assert [row["word"] for row in cached] == [row["word"] for row in line]


def test_a_word_with_quotes_does_not_break_the_table(says: Any) -> None:
    shown = says("surprisal", "letters", "--text", 'the "cat" sees')
    rows = [line.split("\t") for line in shown.splitlines()]
    assert [row[2] for row in rows[1:]] == ["the", '"cat"', "sees"]
