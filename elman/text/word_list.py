"""The vocabulary of a task: the id of each word, and its count in training.

Takes sentences of words, gives ids; called by the tasks. Unlike the vocabulary of a tokenizer, it
cannot decode. An out-of-vocabulary word has id 0; the model still sees its characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from elman.data_checks import flag, section, texts, wholes
from elman.text.normalising import AS_IT_IS, Normaliser, normaliser_from_data
from elman.text.tokenizer import UNKNOWN, Ids

_DIGIT = re.compile(r"\d")


class WordList:
    """Words to ids."""

    def __init__(
        self,
        words: Sequence[str],
        counts: Sequence[int],
        *,
        lowercase: bool,
        digits_alike: bool,
        normaliser: Normaliser = AS_IT_IS,
    ) -> None:
        self.words = [UNKNOWN, *words]
        self.counts = np.array([0, *counts])
        self.lowercase = lowercase
        self.digits_alike = digits_alike
        self.normaliser = normaliser
        self._ids = Ids(self.words, 0)

    @classmethod
    def learn(
        cls,
        sentences: Iterable[Sequence[str]],
        *,
        min_count: int = 1,
        lowercase: bool = False,
        digits_alike: bool = False,
        normalise: str = "none",
    ) -> WordList:
        """The words that occur at least `min_count` times in training, most frequent first."""
        sentences = [*sentences]
        text = " ".join(map(" ".join, sentences)) if normalise == "nfc+quotes" else ""
        looked_up: dict[str, Any] = {
            "lowercase": lowercase,
            "digits_alike": digits_alike,
            "normaliser": Normaliser.learn([text], normalise),
        }
        empty = cls([], [], **looked_up)
        counts = Counter(word for sentence in sentences for word in map(empty.normalise, sentence))
        known = sorted((-count, word) for word, count in counts.items() if count >= min_count)
        return cls(
            [word for _, word in known],
            [-count for count, _ in known],
            **looked_up,
        )

    def extended(self, words: Iterable[str]) -> WordList:
        """The list with further words, whose count is 0: the training data does not have them."""
        further = {self.normalise(word): None for word in words}
        for known in self.words:
            further.pop(known, None)
        return self.with_further([*further])

    def seen(self) -> list[str]:
        """The words that the training data has."""
        return [word for word, count in zip(self.words, self.counts, strict=True) if count]

    def normalise(self, word: str) -> str:
        """The word as it is looked up."""
        word = self.normaliser(word)
        if self.lowercase:
            word = word.lower()
        return _DIGIT.sub("0", word) if self.digits_alike else word

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The id of each word."""
        return self._ids.of([self.normalise(word) for word in words])

    @property
    def known(self) -> int:
        """The number of words of the training text, including the unknown word."""
        return 1 + int((self.counts[1:] > 0).sum())

    def with_further(self, words: Sequence[str]) -> WordList:
        """The list with words that training lacks, at its end, with the count 0."""
        return WordList(
            [*self.words[1:], *words],
            [*self.counts[1:].tolist(), *(0 for _ in words)],
            lowercase=self.lowercase,
            digits_alike=self.digits_alike,
            normaliser=self.normaliser,
        )

    def __len__(self) -> int:
        return len(self.words)

    def to_data(self) -> dict[str, Any]:
        """Everything needed to rebuild the list, as plain data."""
        return {
            "words": self.words[1:],
            "counts": self.counts[1:].tolist(),
            "lowercase": self.lowercase,
            "digits_alike": self.digits_alike,
            "normalise": self.normaliser.to_data(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> WordList:
        """Rebuild the list from this data."""
        data = section(data, "words")
        words, counts = texts(data["words"], "words"), wholes(data["counts"], "counts")
        if len(words) != len(counts):
            raise ValueError(f"{len(words):,} words have {len(counts):,} counts")
        return cls(
            words,
            counts,
            lowercase=flag(data["lowercase"], "lowercase"),
            digits_alike=flag(data["digits_alike"], "digits_alike"),
            normaliser=normaliser_from_data(data.get("normalise")),
        )
