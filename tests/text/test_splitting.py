"""Splitting text into words: at white space if it is tokenized already, otherwise by raw-words."""

import pytest

from elman.tasks.classification.reader import is_tokenized
from elman.text.splitting import split_raw, split_text


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("a film , well-made .", False),
        ("no well-made marks at all", False),
        ("Mr. Smith and Dr. No , well-made", False),
        ("A film, well-made.", True),
        ("What a well-made film!", True),
        ("it was well-made.", True),
    ],
)
def test_a_text_is_split_at_white_space_where_its_marks_stand_alone(text: str, typed: bool) -> None:
    assert ("well-made" in split_text(text, True)) is not typed


def test_a_training_text_is_judged_as_a_whole() -> None:
    assert is_tokenized(["a film .", "no. then", "the end .", *["more words here"] * 10])
    assert not is_tokenized(["A film.", "It ends.", "the end ."])


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
