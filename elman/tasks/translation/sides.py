"""One side of pairs: its tokenizer and the token counts of training.

Takes one text per line, returns an array of ids per line, and texts back; called by the translation
task. With every tokenizer, a line stays one row.

Words can be copied: source words that are not in the target vocabulary get numbers too.

    vocabulary of V words:   Mary saw <unk>            source   Mary saw Xanthe
    numbers of the source    5 7 V                     target   Xanthe saw Mary   →   V 7 5

The k-th different unknown word of a source has the number V + k, for this one source only (See et
al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.data_checks import wholes
from elman.errors import InputError
from elman.text import guess_tokenizer, tokenizer_from_data, tokenizer_to_data, train_tokenizer
from elman.text.tokenizer import TextConfig, Tokenizer
from elman.text.words import Words

# Defaults of text.min_count. Words seen once become <unk>, which would otherwise never be trained.
# Sub-words are merged only if the result is frequent, so little data gives a small vocabulary of
# tokens that can be learned: 2,000 pairs of Multi30k give 1,200 tokens, 29,000 give 5,000.
_MIN_COUNTS = {"words": 2, "bpe": 10}


@dataclass(frozen=True)
class Side:
    """Converts texts of one side to ids and back."""

    tokenizer: Tokenizer
    counts: np.ndarray  # (V,): how often each token came in training

    @classmethod
    def learn(cls, lines: Sequence[str], config: TextConfig) -> Side:
        """The tokens of a training text."""
        text = "".join(f"{line}\n" for line in lines)
        name = guess_tokenizer(text) if config.tokenizer == "auto" else config.tokenizer
        settings = TextConfig(
            tokenizer=name,
            vocabulary_size=config.vocabulary_size,
            min_count=config.min_count or _MIN_COUNTS.get(name, 0),
            lowercase=config.lowercase,
        )
        tokenizer, ids = train_tokenizer(text, settings)
        return cls(tokenizer, np.bincount(ids, minlength=len(tokenizer)))

    def encode(self, lines: Sequence[str]) -> list[np.ndarray]:
        """The ids of every line, without `<eos>`."""
        if not lines:
            return []
        for number, line in enumerate(lines, 1):
            if "\n" in line:
                raise InputError(f"text {number} has a line break; give one line per text")
        ids = self.tokenizer.encode("\n".join(lines))
        ends = np.flatnonzero(ids == self.tokenizer.eos_id)
        rows = np.split(ids, ends)
        return [rows[0], *(row[1:] for row in rows[1:])]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids of a line."""
        return self.tokenizer.decode(ids).replace("\n", " ")

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """A readable form of each."""
        return [self.tokenizer.tokens[number] for number in ids]

    def to_data(self) -> dict[str, Any]:
        """Everything needed to restore it, as plain data."""
        return {**tokenizer_to_data(self.tokenizer), "counts": self.counts.tolist()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Side:
        """Restore a side from its data."""
        data = dict(data)
        counts = np.array(wholes(data.pop("counts"), "counts"), dtype=np.int64)
        side = cls(tokenizer_from_data(data), counts)
        if len(side.tokenizer) != len(counts):
            raise ValueError("the numbers of tokens and counts differ")
        return side


# Copied words -------------------------------------------------------------------------------------


def vocabulary_to_copy_into(source: Tokenizer, target: Tokenizer) -> Words:
    """The target's words; copying works only with the tokenizer words."""
    if not isinstance(target, Words) or not isinstance(source, Words):
        raise InputError("model.copy=true copies whole words; set text.tokenizer=words")
    return target


def number_source(
    words: Sequence[str], vocabulary: Words, most: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The number of each word of a source, and its unknown words in order.

    At most `most` unknown words get their own numbers; further ones are `<unk>`.
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
    """The number of each word of a target; unknown words of its source have their own."""
    further = {word: len(vocabulary) + place for place, word in enumerate(unknown)}
    numbers = vocabulary.ids.of([*words])
    for place in np.flatnonzero(numbers == vocabulary.unknown_id).tolist():
        numbers[place] = further.get(words[place], numbers[place])
    return numbers


def text_of(numbers: Iterable[int], vocabulary: Words, unknown: Sequence[str]) -> str:
    """The text of numbers, including copied words."""
    tokens = [*vocabulary.tokens, *unknown]
    return " ".join(tokens[number] for number in numbers)
