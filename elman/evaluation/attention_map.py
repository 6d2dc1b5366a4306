"""Attention maps: the attention of each target word to each source word.

Takes attention weights between tokens (T, S), gives them between words, as a table, as plain data
and as an alignment in the Pharaoh format: `0-0 1-2`, source word and target word, both counted from
0. Called by the translation task; drawn by `figures/attention_maps.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from elman.notebooks import Table, Tabular

END = "<eos>"  # the last of a side that has it, in its place beside the words
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class AttentionMap(Tabular):
    """Weights (target, source) of one sentence; each row sums to one."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray

    @property
    def links(self) -> list[tuple[int, int]]:
        """For every target word, the source word with the most attention.

        Words with most attention on the end of the source have no link, and neither has the end
        of the target.
        """
        if not self.source:
            return []
        ends = [side[-1:] == (END,) for side in (self.source, self.target)]
        looked_at = self.weights[: len(self.target) - ends[1]].argmax(1).tolist()
        last = len(self.source) - ends[0]
        return [(source, target) for target, source in enumerate(looked_at) if source < last]

    @property
    def pharaoh(self) -> str:
        """The links in the order of the source, as other tools read them."""
        return " ".join(f"{source}-{target}" for source, target in sorted(self.links))

    def as_table(self) -> Table:
        """One row per target word, one column per source word."""
        rows = [
            [word, *map(float, weights)]
            for word, weights in zip(self.target, self.weights, strict=True)
        ]
        return Table(["", *self.source], rows)

    def _repr_html_(self) -> str:
        rows = []
        for word, weights in zip(self.target, self.weights, strict=True):
            cells = "".join(
                f'<td style="min-width:1.6rem;background:rgba(59,91,219,{float(weight):.3f})" '
                f'title="{float(weight):.3f}">&nbsp;</td>'
                for weight in weights
            )
            rows.append(f"<tr><th>{escape(word)}</th>{cells}</tr>")
        head = "".join(f"<th>{escape(word)}</th>" for word in self.source)
        return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"

    def to_data(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": [[round(float(weight), 6) for weight in row] for row in self.weights],
            "alignment": self.pharaoh,
        }


def map_words(
    source: tuple[Sequence[str], Sequence[int]],
    target: tuple[Sequence[str], Sequence[int]],
    weights: np.ndarray,
) -> AttentionMap:
    """Turn token weights (T, S) into word weights; each side comes from `words_of`.

    The attention to a word is the sum over its tokens; the attention of a word is the mean over its
    tokens. So the weights of a target word still sum to one.
    """
    (source_words, of_source), (target_words, of_target) = source, target
    looks = np.zeros((len(target_words), len(source_words)))
    tokens = np.zeros(len(target_words))
    columns = np.zeros((len(weights), len(source_words)))
    np.add.at(columns.T, np.asarray(of_source, dtype=int), np.asarray(weights, dtype=float).T)
    np.add.at(looks, np.asarray(of_target, dtype=int), columns)
    np.add.at(tokens, np.asarray(of_target, dtype=int), 1)
    return AttentionMap(
        tuple(source_words), tuple(target_words), looks / np.maximum(tokens, 1)[:, None]
    )


def words_of(text: str, starts: Sequence[int]) -> tuple[list[str], list[int]]:
    """The words of a text, and the index of the word of each token.

    starts: the position in the text where each token begins. A space belongs to the next word; a
    text of spaces only is one word.
    """
    words = [*_WORD.finditer(text)]
    if not words:
        return [text] * bool(len(starts)), [0] * len(starts)
    ends = np.array([word.end() for word in words], dtype=int)
    numbers = np.searchsorted(ends, np.asarray(starts, dtype=int), side="right")
    return [word.group() for word in words], np.minimum(numbers, len(words) - 1).tolist()


def starts_of(pieces: Sequence[str]) -> list[int]:
    """The start of each token, from the texts up to and including each token.

    A token that adds no character completes the one before it, and begins there.
    """
    starts, length = [], 0
    for piece in pieces:
        starts.append(length if len(piece) > length else max(length - 1, 0))
        length = len(piece)
    return starts
