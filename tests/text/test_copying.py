"""Ids of words that may be copied, by hand, and back to words."""

import pytest

from elman.errors import InputError
from elman.tasks.translation.sides import (
    number_source,
    number_target,
    text_of,
    vocabulary_to_copy_into,
)
from elman.text.characters import Characters
from elman.text.words import Words

WORDS = Words(["<eos>", "<unk>", "Mary", "saw"])  # so the first unknown word of a source is 4


def test_by_hand() -> None:
    source = "Xanthe saw Mary and Xanthe".split()
    numbers, unknown = number_source(source, WORDS, 20)
    assert numbers.tolist() == [4, 3, 2, 5, 4]
    assert unknown == ("Xanthe", "and")
    target = number_target("Mary saw Xanthe often".split(), WORDS, unknown)
    assert target.tolist() == [2, 3, 4, 1]  # `often` is nowhere
    assert text_of([2, 3, 4], WORDS, unknown) == "Mary saw Xanthe"


def test_only_so_many_have_numbers() -> None:
    numbers, unknown = number_source("a b a c saw b".split(), WORDS, 2)
    assert numbers.tolist() == [4, 5, 4, 1, 3, 5]
    assert unknown == ("a", "b")
    assert number_source([], WORDS, 2)[0].tolist() == []


def test_only_words_are_copied() -> None:
    assert vocabulary_to_copy_into(WORDS, WORDS) is WORDS
    with pytest.raises(InputError, match="copies whole words; set text.tokenizer=words"):
        vocabulary_to_copy_into(WORDS, Characters(["a"]))
