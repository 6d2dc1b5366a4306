"""The glossary explains the words of the field."""

import re
from pathlib import Path

import pytest

GLOSSARY = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["dataset", "ensemble", "hyperparameter", "minibatch", "OOV"])
def test_a_word_that_everybody_knows_is_explained(word: str) -> None:
    assert re.search(rf"^\|.*\b{word}\b", GLOSSARY, re.MULTILINE)


def test_every_row_says_what_a_word_is() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.*?) \|", GLOSSARY, re.MULTILINE)
    assert len(rows) > 50
    assert all(about for _, about in rows)
