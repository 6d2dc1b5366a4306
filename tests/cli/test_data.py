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
    assert found["splits"]["train"]["lines"] == 200
    assert found["splits"]["train"]["words"] == 1200
    assert found["splits"]["test"]["distinct_words"] == 9
    result = call("data", "data", "--write", str(tmp_path / "copy"))
    assert result.code == 0
    assert (tmp_path / "copy" / "test.txt").read_text() == sentences(40, 2)
    assert call("data", "data", "--write", str(tmp_path / "copy")).code == 2
