"""A text as one stream: cut into parallel columns, read window by window (truncated BPTT).

    text     a b c d e f g h i j k l m          columns (2)    a b c d e f
                                                               g h i j k l
    windows (3), inputs → targets               a b c → b c d   then   d e → e f
                                                g h i → h i j          j k → k l

Each window continues the one before it, so the carried state has read everything before it in its
column. The tokens that do not fill a column are dropped, at most `batch_size`. If `learned` is
given, the other tokens are only read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from elman.batches.batch import Batch, Batches
from elman.errors import InputError

_SHORTEST = 5  # tokens of a random window, as in AWD-LSTM


class Stream(Batches):
    """Windows of columns; with `jitter`, windows of random lengths (Merity et al. 2018).

    Then the mean length is halved with probability 0.05, and the length is normally distributed
    around it with standard deviation `jitter`; `rate_factor` is the resulting relative length.
    """

    carries_state = True

    def __init__(
        self,
        ids: np.ndarray,
        *,
        batch_size: int,
        window: int,
        jitter: float = 0.0,
        seed: int = 0,
        learned: np.ndarray | None = None,  # bool per id; None: all
    ) -> None:
        length = len(ids) // batch_size
        if length < 2:
            raise InputError(
                f"the text has {len(ids):,} tokens, too few for training.batch_size={batch_size}; "
                "give more text or a smaller batch"
            )
        self._columns = _columns(ids, batch_size, length)
        self._learned = None if learned is None else _columns(learned, batch_size, length)
        self._window = window
        self._jitter = jitter
        self._random = np.random.default_rng(seed)
        self._offset = 0
        self.tokens_per_epoch = batch_size * (length - 1)

    def next(self) -> Batch | None:
        last = self._columns.shape[1] - 1
        if self._offset >= last:
            self._offset = 0
            return None
        length = self._draw_length()
        begin, end = self._offset, min(self._offset + length, last)
        self._offset = end
        return Batch(
            self._columns[:, begin:end].long(),  # large texts are stored with 32 bits
            self._columns[:, begin + 1 : end + 1].long(),
            rate_factor=length / self._window if self._jitter else 1.0,
            learned=None if self._learned is None else self._learned[:, begin + 1 : end + 1],
        )

    def _draw_length(self) -> int:
        if not self._jitter:
            return self._window
        mean = self._window if self._random.random() < 0.95 else self._window / 2
        return max(_SHORTEST, int(self._random.normal(mean, self._jitter)))

    @property
    def learned_per_epoch(self) -> int:
        if self._learned is None:
            return self.tokens_per_epoch
        return int(self._learned[:, 1:].sum())

    def position(self) -> dict[str, Any]:
        return {"offset": self._offset, "random": self._random.bit_generator.state}

    def go_to(self, position: dict[str, Any]) -> None:
        self._offset = position["offset"]
        self._random.bit_generator.state = position["random"]


def _columns(values: np.ndarray, batch_size: int, length: int) -> torch.Tensor:
    kept = np.ascontiguousarray(values[: length * batch_size])
    return torch.from_numpy(kept).view(batch_size, length)
