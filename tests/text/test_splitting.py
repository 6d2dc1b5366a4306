"""Texts as words: tokenized ones at white space, others by the rule of raw words."""

import pytest

from elman.text.raw_words import split_raw
from elman.text.splitting import is_tokenized, split_text


@pytest.mark.parametrize(
    ("text", "tokenized"),
    [
        ("a film , well made .", True),
        ("no marks at all", True),
        ("Mr. Smith and Dr. No , again", True),
        ("A film, well made.", False),
        ("What a film!", False),
        ("it was bad.", False),
    ],
)
def test_a_text_is_tokenized_where_its_marks_stand_alone(text: str, tokenized: bool) -> None:
    assert is_tokenized([text]) is tokenized


def test_many_texts_are_judged_together() -> None:
    assert is_tokenized(["a film .", "o.k. then", "the end ."])
    assert not is_tokenized(["A film.", "it ends.", "the end ."])


def test_raw_words_and_marks_come_apart() -> None:
    assert split_raw("It's  a film, isn't it?\t12 times") == (
        ["It's", "a", "film", ",", "isn't", "it", "?", "12", "times"]
    )


def test_a_tokenized_training_text_keeps_its_words() -> None:
    assert split_text("it 's well-made , is n't it", True) == (
        ["it", "'s", "well-made", ",", "is", "n't", "it"]
    )


def test_a_typed_text_is_split_whatever_was_trained_on() -> None:
    assert split_text("What a film!", True) == split_text("What a film!", False)
    assert split_text("What a film!", True) == ["What", "a", "film", "!"]


def test_after_a_raw_training_text_every_text_is_split_alike() -> None:
    assert split_text("well-made stuff", False) == ["well", "-", "made", "stuff"]
