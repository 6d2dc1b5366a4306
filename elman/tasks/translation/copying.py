"""Words that may be copied: those of a source that the target's vocabulary lacks get numbers too.

    vocabulary of V words:   Mary saw <unk>            source   Mary saw Xanthe
    numbers of the source    5 7 V                     target   Xanthe saw Mary   →   V 7 5

The k-th different unknown word of a source has the number V + k, for this one source only (See et
al. 2017). Takes words, gives numbers, and texts of numbers; called by the task of translation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from elman.errors import InputError
from elman.text.tokenizer import Tokenizer
from elman.text.words import Words


def vocabulary_to_copy_into(source: Tokenizer, target: Tokenizer) -> Words:
    """The target's words; sub-words or characters cannot be copied as words."""
    if not isinstance(target, Words) or not isinstance(source, Words):
        raise InputError("model.copy=true: words are copied; set text.tokenizer=words")
    return target


def number_source(
    words: Sequence[str], vocabulary: Words, most: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The number of each word of a source, and its unknown words in the order of theirs.

    Of unknown words `most` have numbers of their own; those after them are only unknown.
    """
    numbers = vocabulary.ids.of([*words])
    unknown: dict[str, int] = {}
    for place in np.flatnonzero(numbers == vocabulary.unknown_id).tolist():
        word = words[place]
        if word not in unknown and len(unknown) < most:
            unknown[word] = len(vocabulary) + len(unknown)
        numbers[place] = unknown.get(word, numbers[place])
    return numbers, tuple(unknown)


def number_target(words: Sequence[str], vocabulary: Words, unknown: Sequence[str]) -> np.ndarray:
    """The number of each word of a target; unknown words of its source have theirs."""
    further = {word: len(vocabulary) + place for place, word in enumerate(unknown)}
    numbers = vocabulary.ids.of([*words])
    for place in np.flatnonzero(numbers == vocabulary.unknown_id).tolist():
        numbers[place] = further.get(words[place], numbers[place])
    return numbers


def text_of(numbers: Iterable[int], vocabulary: Words, unknown: Sequence[str]) -> str:
    """The text of numbers, copied words among them."""
    tokens = [*vocabulary.tokens, *unknown]
    return " ".join(tokens[number] for number in numbers)
