"""Score many lines with shared prefixes; each distinct prefix is scored once.

    the cats sleep .        the ─ cats ─┬─ sleep ─── . ─ <eos>
    the cats sleeps .                   └─ sleeps ── . ─ <eos>      10 tokens, 8 scored

Takes a model and the ids of lines, gives the log probability of every token, like `score_ids` line
by line; called by `pairs.py` and `suites.py`. Lines are sorted, divided into batches, and scored
one token at a time. A prefix that several lines share is one row of that step. So there is no
padding, and shared prefixes have exactly the same probability in all lines. A mixture is scored
part by part, and `KnownScores` keeps the scores of models that are also parts of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np
import torch

from elman.evaluation.measures import Progress, silent
from elman.evaluation.scoring import cut_lines
from elman.models.contract import LanguageModel
from elman.state import select, tensors

_STATES = 1 << 25  # maximum bytes of state per batch
_LARGEST = 1 << 12  # maximum lines per batch
_NOTHING = -1  # after the end of a line


class KnownScores:
    """The scores that models gave to lines, so that the same model never scores them again."""

    def __init__(self) -> None:
        self._found: dict[tuple[LanguageModel, bytes], np.ndarray] = {}

    def get(
        self, model: LanguageModel, ids: np.ndarray, score: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """The scores of ids, computed by `score` if they are not known."""
        key = model, sha256(ids.tobytes()).digest()
        if key not in self._found:
            self._found[key] = score()
        return self._found[key]


def score_lines(
    model: LanguageModel,
    ids: np.ndarray,
    *,
    eos_id: int,
    batch_size: int | None = None,
    known: KnownScores | None = None,
    progress: Progress = silent,
) -> np.ndarray:
    """Natural-log probabilities of ids, float64, same length; the state is reset at every line.

    batch_size: lines per batch; None: as many as fit into memory; known: scores computed before.
    """
    if not len(ids):
        return np.empty(0)
    known = known or KnownScores()

    def score() -> np.ndarray:
        if not (parts := model.parts()):
            return _score_lines(model, ids, eos_id, batch_size, progress)
        given: dict[str, Any] = {"eos_id": eos_id, "batch_size": batch_size}
        scores = [score_lines(part, ids, **given, known=known, progress=progress) for part in parts]
        return model.combine([torch.from_numpy(one) for one in scores]).numpy()

    return known.get(model, ids, score)


def _score_lines(
    model: LanguageModel,
    ids: np.ndarray,
    eos_id: int,
    batch_size: int | None,
    progress: Progress,
) -> np.ndarray:
    lines = [(row.first, row.last) for row in cut_lines(ids, eos_id)]
    distinct, owners = _sort_distinct(ids, lines)
    size = batch_size or _fitting(model)
    parts = []
    with torch.inference_mode():
        for begin in range(0, len(distinct), size):
            batch = distinct[begin : begin + size]
            parts.append(_score_batch(model, batch))
            progress(sum(map(len, batch)), sum(map(len, distinct)))
    return _spread(np.concatenate(parts), distinct, owners)


def _sort_distinct(
    ids: np.ndarray, lines: list[tuple[int, int]]
) -> tuple[list[np.ndarray], np.ndarray]:
    """The sorted distinct lines, and the index of each line among them."""
    # Big-endian bytes sort like the numbers.
    written = ids.astype(">u4").tobytes()
    keys = [written[4 * first : 4 * last] for first, last in lines]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    distinct = [np.frombuffer(key, dtype=">u4").astype(np.int64) for key in ranks]
    return distinct, np.array([ranks[key] for key in keys])


def _fitting(model: LanguageModel) -> int:
    with torch.inference_mode():
        state = model.start(1)
    bytes_per_line = sum(tensor.numel() * tensor.element_size() for tensor in tensors(state))
    return int(min(max(_STATES // max(bytes_per_line, 1), 1), _LARGEST))


def _score_batch(model: LanguageModel, lines: list[np.ndarray]) -> np.ndarray:
    """The log probabilities of sorted lines, concatenated."""
    longest = max(map(len, lines))
    table = np.full((len(lines), longest), _NOTHING)
    for row, line in zip(table, lines, strict=True):
        row[: len(line)] = line
    scores = np.zeros(table.shape)
    for column, (values, rows) in enumerate(_score_columns(model, table)):
        scores[:, column] = values[rows]
    return np.asarray(scores[table != _NOTHING])


def _score_columns(
    model: LanguageModel, table: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each column, the log probabilities of its distinct tokens, and the index of the token of
    every line (arbitrary after the end of the line).
    """
    shared = _shared_with_line_before(table)
    before = np.zeros(len(table), dtype=np.int64)  # for every line, its row of the state
    state = model.start(1)
    for column in range(table.shape[1]):
        new = (column >= shared) & (table[:, column] != _NOTHING)
        log_probs, state = model.score(
            torch.from_numpy(table[new, column, None]),
            select(state, torch.from_numpy(before[new])),
        )
        before = np.maximum(np.cumsum(new) - 1, 0)
        yield log_probs[:, 0].double().numpy(), before


def _shared_with_line_before(table: np.ndarray) -> np.ndarray:
    """The length of the prefix that each line shares with the previous line."""
    differ = table[1:] != table[:-1]
    return np.concatenate([[0], differ.argmax(1)])


def _spread(values: np.ndarray, distinct: list[np.ndarray], owners: np.ndarray) -> np.ndarray:
    """Expand the concatenated values of distinct lines to all lines."""
    lengths = np.array([len(line) for line in distinct])
    firsts = np.cumsum(lengths) - lengths
    own = lengths[owners]
    within = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
    return np.asarray(values[np.repeat(firsts[owners], own) + within])
