"""A text as one stream: cut into parallel columns, read window by window (truncated BPTT).

    text     a b c d e f g h i j k l m          columns (2)    a b c d e f
                                                               g h i j k l
    windows (3), inputs → targets               a b c → b c d   then   d e → e f
                                                g h i → h i j          j k → k l

Each window continues the one before it, so the carried state has read everything before it in its
column. The tokens that do not fill a column are dropped, at most `batch_size`. If `learned` is
given, the other tokens are only read.

Three schedules change this during a training:

    partial_shuffle   before every epoch, each column is cut at a random place and its two parts
                      change places, so no two epochs align the same words (Press 2019)
    window_start      windows grow from this length, linearly:  start + progress · (window - start)
    batch_start       the same for the number of columns, which changes between epochs
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from elman.batches.batch import Batch, Batches
from elman.data_checks import whole, wholes
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
        partial_shuffle: bool = False,
        window_start: int = 0,  # 0: `window` throughout
        batch_start: int = 0,  # 0: `batch_size` throughout
    ) -> None:
        if len(ids) // batch_size < 2:
            raise InputError(
                f"the training text has {len(ids):,} token{'s' * (len(ids) != 1)}, too few for "
                f"training.batch_size={batch_size}; give more text, a smaller batch, or count it: "
                "elman train ngram"
            )
        self._ids, self._learned_ids = ids, learned
        self._window = window
        self._jitter = jitter
        self._random = np.random.default_rng(seed)
        self._window_start = window_start
        self._batch_start, self._batch_size = batch_start, batch_size
        self._shuffles = partial_shuffle
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Cut the text into columns, and the columns where they begin in this epoch."""
        rows = self._scheduled(self._batch_start, self._batch_size)
        cuts = self._random.integers(0, len(self._ids) // rows, rows) if self._shuffles else None
        self._cut(rows, cuts)

    def _cut(self, rows: int, cuts: np.ndarray | None) -> None:
        length = len(self._ids) // rows
        self._rows, self._cuts = rows, cuts
        self._columns = _columns(self._ids, rows, length, cuts)
        learned = self._learned_ids
        self._learned = None if learned is None else _columns(learned, rows, length, cuts)
        self._offset = 0
        self.tokens_per_epoch = rows * (length - 1)

    def _scheduled(self, start: int, end: int) -> int:
        return end if start == 0 else round(start + self.progress * (end - start))

    def next(self) -> Batch | None:
        last = self._columns.shape[1] - 1
        if self._offset >= last:
            if self._shuffles or self._batch_start:
                self._begin_epoch()
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
        window = self._scheduled(self._window_start, self._window)
        if not self._jitter:
            return window
        mean = window if self._random.random() < 0.95 else window / 2
        return max(_SHORTEST, int(self._random.normal(mean, self._jitter)))

    @property
    def learned_per_epoch(self) -> int:
        if self._learned is None:
            return self.tokens_per_epoch
        return int(self._learned[:, 1:].sum())

    def position(self) -> dict[str, Any]:
        position = {"offset": self._offset, "random": self._random.bit_generator.state}
        if self._batch_start:
            position["rows"] = self._rows
        if self._cuts is not None:
            position["cuts"] = self._cuts.tolist()
        return position

    def _checked(self, position: dict[str, Any]) -> tuple[int, np.ndarray | None]:
        """The columns at a position, which may come from a file."""
        rows = whole(position.get("rows", self._batch_size), "position.rows", at_least=1)
        if len(self._ids) // rows < 2:
            raise ValueError(f"position.rows is {rows}, more than the text has")
        if not self._shuffles:
            return rows, None
        cuts = wholes(position["cuts"], "position.cuts")
        if len(cuts) != rows:
            raise ValueError(f"position.cuts has {len(cuts)} numbers for {rows} columns")
        return rows, np.array(cuts)

    def go_to(self, position: dict[str, Any]) -> None:
        if self._shuffles or self._batch_start:
            self._cut(*self._checked(position))
        self._offset = position["offset"]
        self._random.bit_generator.state = position["random"]


def _columns(
    values: np.ndarray, batch_size: int, length: int, cuts: np.ndarray | None
) -> torch.Tensor:
    """Columns of a text; with cuts (batch_size,), each begins at its cut and ends before it."""
    kept = np.ascontiguousarray(values[: length * batch_size])
    columns = torch.from_numpy(kept).view(batch_size, length)
    if cuts is None:
        return columns
    return torch.stack([c.roll(-int(cut)) for c, cut in zip(columns, cuts, strict=True)])
