"""The tokens of all sentences of many minimal pairs: which decide, which are unknown.

Takes a tokenizer and pairs; called by `pairs.py`. The sentences are lines of one text: the good and
the bad one of the first pair, then those of the second.

A pair differs in an unknown token if only one of its sentences has that token, or if both sentences
are the same to a model because the tokens that differ, or changed places, are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elman.evaluation.differences import Tokens, deciding_tokens
from elman.text.minimal_pairs import MinimalPair
from elman.text.tokenizer import Tokenizer


class PairTokens:
    """Ids of all sentences, each with its line end; and where each token stands."""

    def __init__(self, tokenizer: Tokenizer, pairs: Sequence[MinimalPair]) -> None:
        self._sentences = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
        self._text = "".join(f"{sentence}\n" for sentence in self._sentences)
        self._spans = tokenizer.spans(self._text)
        self.ids = self._spans.ids
        self._lasts = np.flatnonzero(self.ids == tokenizer.eos_id) + 1
        self.firsts = np.concatenate([[0], self._lasts[:-1]])
        unknown_id = tokenizer.unknown_id
        no_token = np.zeros(len(self.ids), dtype=bool)
        self._unknown = no_token if unknown_id is None else self.ids == unknown_id

    def have_unknown(self) -> np.ndarray:
        """For every pair, whether it has an unknown token."""
        return self._any(self._unknown)

    def differ_in_unknown(self, decides: np.ndarray | None = None) -> np.ndarray:
        """For every pair, whether it differs in an unknown token; with `decides`, also whether one
        of the tokens that decide it is unknown.
        """
        written = self._written_unknown()
        nothing: list[str] = []
        differ = np.zeros(len(self._sentences) // 2, dtype=bool)
        for number in {line // 2 for line in written}:
            good, bad = (written.get(line, nothing) for line in (2 * number, 2 * number + 1))
            differ[number] = sorted(good) != sorted(bad) or self._same_ids(number)
        return differ if decides is None else differ | self._any(self._unknown & decides)

    def deciding(self, pairs: Sequence[MinimalPair]) -> np.ndarray:
        """Whether each token decides its pair."""
        lengths = np.array([len(sentence) + 1 for sentence in self._sentences])
        offsets = np.repeat(np.cumsum(lengths) - lengths, self._lasts - self.firsts)
        starts, ends = self._spans.starts - offsets, self._spans.ends - offsets
        lines = [
            Tokens(sentence, self.ids[first:last], starts[first:last], ends[first:last])
            for sentence, first, last in zip(
                self._sentences, self.firsts.tolist(), self._lasts.tolist(), strict=True
            )
        ]
        decides = np.zeros(len(self.ids), dtype=bool)
        for number, pair in enumerate(pairs):
            found = deciding_tokens(pair, lines[2 * number], lines[2 * number + 1])
            for line, (first, last) in zip((2 * number, 2 * number + 1), found, strict=True):
                decides[self.firsts[line] + first : self.firsts[line] + last] = True
        return decides

    def _any(self, tokens: np.ndarray) -> np.ndarray:
        """For every pair, whether this is true of one of its tokens."""
        return np.asarray(np.logical_or.reduceat(tokens, self.firsts).reshape(-1, 2).any(1))

    def _written_unknown(self) -> dict[int, list[str]]:
        """The unknown tokens of each line that has some, as they are written."""
        places = np.flatnonzero(self._unknown)
        lines = np.searchsorted(self.firsts, places, side="right") - 1
        spans = self._spans.starts[places].tolist(), self._spans.ends[places].tolist()
        written: dict[int, list[str]] = {}
        for line, start, end in zip(lines.tolist(), *spans, strict=True):
            written.setdefault(line, []).append(self._text[start:end].strip())
        return written

    def _same_ids(self, number: int) -> bool:
        good, bad = (
            self.ids[self.firsts[line] : self._lasts[line]] for line in (2 * number, 2 * number + 1)
        )
        return np.array_equal(good, bad)
