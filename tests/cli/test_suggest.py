"""`elman suggest`, as people and scripts call it."""

from pathlib import Path
from typing import Any

import elman


def test_suggest(says: Any, gives: Any, place: Path) -> None:
    shown = says("suggest", "words", "the", "--top", "2").splitlines()
    assert shown[0].split() == ["token", "probability"]
    assert len(shown) == 4
    found = gives("suggest", "words", "the")["suggestions"]
    expected = elman.load(place / "words").suggest("the")
    assert found == [{"token": s.token, "probability": s.probability} for s in expected]
    completed = gives("suggest", "letters", "the ca", "--complete", "--top", "1")
    assert completed["suggestions"][0]["token"] == "cat"
    assert len(gives("suggest", "words")["suggestions"]) == 5


def test_a_word_without_completions_is_no_empty_table(says: Any) -> None:
    shown = says("suggest", "words", "the zzz", "--complete")
    assert shown == "no word of the vocabulary completes the last word\n"
