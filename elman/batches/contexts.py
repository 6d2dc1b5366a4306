"""Words and the words around them: the batches of word2vec.

    text      the cat sat on the mat           window 2, the centre is `sat`
    contexts      the cat [sat] on the         ids (N, 2 · window); `NOBODY` where there is no word

For every epoch the sentences are shuffled, frequent words are left out at random (subsampling), and
every word draws the width of its window, from 1 to `window`, so that near words count more (Mikolov
et al. 2013). All of it is done for the whole epoch at once, without a loop over words. The result
depends only on the seed and the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from elman.batches.batch import Batches
from elman.errors import InputError

NOBODY = -1


@dataclass(frozen=True)
class ContextBatch:
    """Words of a text, each with the words around it."""

    centres: torch.Tensor  # (N,)
    contexts: torch.Tensor  # (N, 2 · window), NOBODY where there is no word
    tokens: int  # words of the text that the batch covers, including those left out
    rate_factor: float = 1.0

    def __len__(self) -> int:
        return len(self.centres)

    def to(self, device: torch.device) -> ContextBatch:
        """The same batch on a device."""
        return replace(self, centres=self.centres.to(device), contexts=self.contexts.to(device))

    def rows(self, rows: slice) -> ContextBatch:
        """Some of the centres."""
        return replace(self, centres=self.centres[rows], contexts=self.contexts[rows])


def kept_shares(counts: np.ndarray, subsample: float) -> np.ndarray:
    """The probability that an occurrence of each word is kept: √(t / f) + t / f, at most 1.

    f is the relative frequency of the word, t is `subsample`; 0 keeps everything. The formula is
    that of the published word2vec program. Words that never occurred are left out.
    """
    if subsample == 0:
        return (counts > 0).astype(float)
    frequency = np.maximum(counts, 1) / max(counts.sum(), 1)
    rate = subsample / frequency
    shares: np.ndarray = np.minimum(np.sqrt(rate) + rate, 1.0) * (counts > 0)
    return shares


class Contexts(Batches):
    """Batches of consecutive words with their contexts."""

    carries_state = False

    def __init__(
        self,
        sentences: list[np.ndarray],  # ids; 0 is unknown and left out
        kept: np.ndarray,  # (V,): see `kept_shares`
        *,
        window: int,
        batch_size: int,  # words of the text
        seed: int | None = 0,  # None: the sentences stay in their order
    ) -> None:
        if not any(len(sentence) for sentence in sentences):
            raise InputError("the text has no words; give more text")
        self._ids = np.concatenate(sentences)
        self._lengths = np.array([len(sentence) for sentence in sentences])
        self._kept, self._window, self._batch_size = kept, window, batch_size
        self._seed = seed
        self._epoch = self._number = 0
        self.tokens_per_epoch = len(self._ids)
        self._prepare_epoch()

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self._ids) // self._batch_size)

    def _prepare_epoch(self) -> None:
        """Shuffle the sentences, leave out frequent words, and draw the widths of the windows."""
        random = np.random.default_rng([self._seed or 0, self._epoch])
        order = np.arange(len(self._lengths))
        if self._seed is not None:
            order = random.permutation(order)
        lengths = self._lengths[order]
        starts = (np.cumsum(self._lengths) - self._lengths)[order]
        ahead = np.cumsum(lengths) - lengths
        ids = self._ids[np.repeat(starts - ahead, lengths) + np.arange(len(self._ids))]
        places = np.flatnonzero(random.random(len(ids)) < self._kept[ids])
        self._words = ids[places]
        self._sentences = np.repeat(np.arange(len(lengths)), lengths)[places]
        self._widths = random.integers(1, self._window + 1, len(places))
        # Batch b covers the words of the text from b · batch_size on.
        cuts = np.arange(self.steps_per_epoch + 1) * self._batch_size
        self._cuts = np.searchsorted(places, cuts)

    def next(self) -> Any:
        if self._number == self.steps_per_epoch:
            self._epoch, self._number = self._epoch + (self._seed is not None), 0
            self._prepare_epoch()
            return None
        first, last = self._cuts[self._number : self._number + 2]
        read = self._number * self._batch_size
        self._number += 1
        tokens = min(self._batch_size, len(self._ids) - read)
        centres = np.arange(first, last)
        return ContextBatch(
            torch.from_numpy(self._words[first:last]),
            torch.from_numpy(self._around(centres)),
            tokens,
        )

    def _around(self, centres: np.ndarray) -> np.ndarray:
        """The words within the window of each centre, (N, 2 · window)."""
        steps = np.concatenate([np.arange(-self._window, 0), np.arange(1, self._window + 1)])
        places = centres[:, None] + steps
        within = np.clip(places, 0, len(self._words) - 1)
        there = (places == within) & (np.abs(steps) <= self._widths[centres, None])
        there &= self._sentences[within] == self._sentences[centres, None]
        around: np.ndarray = np.where(there, self._words[within], NOBODY)
        return around

    def position(self) -> dict[str, Any]:
        return {"epoch": self._epoch, "number": self._number}

    def go_to(self, position: dict[str, Any]) -> None:
        self._epoch, self._number = position["epoch"], position["number"]
        self._prepare_epoch()
