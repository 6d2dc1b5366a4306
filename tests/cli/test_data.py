"""`elman data`, as people and scripts call it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from elman.text.corpora import CORPORA


def test_data(
    says: Any, call: Any, gives: Any, tmp_path: Path, sentences: Callable[[int, int], str]
) -> None:
    assert "grammar" in says("data")
    assert set(gives("data")) == set(CORPORA) >= {"grammar", "python-docs", "reverse", "tickets"}
    assert "suggested tokenizer: words" in says("data", "data")
    found = gives("data", "data")
    assert (found["kind"], found["unit"]) == ("running text", "lines")
    assert found["splits"]["train"]["examples"] == 200
    assert found["splits"]["train"]["sides"]["text"]["tokens"] == 1200
    assert found["splits"]["test"]["sides"]["text"]["vocabulary"] == 9
    result = call("data", "data", "--write", str(tmp_path / "copy"))
    assert result.code == 0
    assert (tmp_path / "copy" / "test.txt").read_text() == sentences(40, 2)
    assert call("data", "data", "--write", str(tmp_path / "copy")).code == 2


def test_labels_have_bars_and_problems_are_warnings(call: Any, tmp_path: Path) -> None:
    texts = [(f"text {n}", "b" if n % 25 == 0 else "a") for n in range(200)]
    (tmp_path / "t.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in texts))
    result = call("data", str(tmp_path / "t.tsv"), "--columns", "text=1,label=2")
    assert result.code == 0
    assert "labelled texts" in result.out
    assert "█" in result.out
    assert "warning: train: 96% of the texts have the label 'a'" in result.out


def test_wrong_columns_are_refused_in_one_line(call: Any, place: Path) -> None:
    result = call("data", "data", "--columns", "text=1,label=2")
    assert result.code == 2
    assert "is not a table and has no columns; leave out --columns" in result.err
    assert result.err.count("\n") == 1
