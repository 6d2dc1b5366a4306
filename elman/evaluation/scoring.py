"""Compute the log probability of every token of a text under a model, or another number per token.

Takes a model and ids, gives one number per token, in order. The result does not depend on how the
work is divided:

    stream   one long row; divided into several rows only if the model forgets after `horizon`
             tokens; each row then first reads the tokens before it

             t0 t1 t2 t3 t4 t5 | t6 … t11 | t12 … t17
                        └ read ┘ scored

    line     every line is a row, from the initial state; lines of similar length are side by side,
             a line leaves the batch soon after its end, and equal lines are scored once
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch

from elman.allocator import KEPT_WHEN_SCORING, keep_memory
from elman.evaluation.measures import STREAM, Progress, Reading, silent
from elman.models.contract import LanguageModel
from elman.state import State, join, select

_AT_ONCE = 1 << 22  # numbers of distributions held in memory
_WINDOWS = 16  # per batch of lines: enough for little padding
# Takes ids (B, T) and the state before them, gives a number for each, (B, T), or several,
# (B, T, K), and the state after.
Measure = Callable[[torch.Tensor, State], tuple[torch.Tensor, State]]


@dataclass(frozen=True)
class ScoringRow:
    """A piece of the text that is one row of a batch."""

    first: int
    last: int
    warm_up: int = 0  # tokens before `first` that are read but not scored


def score_ids(
    model: LanguageModel,
    ids: np.ndarray,
    *,
    eos_id: int,
    reading: Reading = STREAM,
    progress: Progress = silent,
) -> np.ndarray:
    """Natural-log probabilities of ids, float64, same length."""
    return each_token(model, ids, model.score, eos_id, reading, progress)


def each_distribution(
    model: LanguageModel,
    ids: np.ndarray,
    measure: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    eos_id: int,
    reading: Reading,
    progress: Progress,
) -> np.ndarray:
    """Apply `measure` to ids (B, T) and the log probabilities before each id, (B, T, V).

    Full distributions take much memory, so long texts are read in shorter windows.
    """

    def over(batch: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        log_probs, state = model.predict_all(batch, state)
        return measure(batch, log_probs), state

    reading = _fitting(model, reading, model.vocabulary_size)
    return each_token(model, ids, over, eos_id, reading, progress)


def each_spread(
    model: LanguageModel,
    ids: np.ndarray,
    eos_id: int,
    reading: Reading,
    progress: Progress,
    members: torch.Tensor | None = None,
) -> np.ndarray:
    """Log probability of each id, log p of the members before it, entropy in nats, and rank of the
    id, (N, 4).
    """

    def over(batch: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        return model.spread(batch, state, members)

    reading = _fitting(model, reading, model.numbers_at_once)
    return each_token(model, ids, over, eos_id, reading, progress)


def _fitting(model: LanguageModel, reading: Reading, numbers: int) -> Reading:
    """A window for which so many numbers per token fit into memory."""
    fits = max(1, _AT_ONCE // (numbers * _batch_size(model, reading)))
    return replace(reading, window=min(reading.window or fits, fits))


def _is_by_lines(model: LanguageModel, reading: Reading) -> bool:
    """Whether every line is a row. A model that resets at lines gives the same numbers either way,
    so its streams are cut into lines too.
    """
    return reading.reset == "line" or (model.resets_at_lines and model.horizon is None)


def _batch_size(model: LanguageModel, reading: Reading) -> int:
    return max(reading.batch_size, model.rows_at_once if _is_by_lines(model, reading) else 1)


def each_token(
    model: LanguageModel,
    ids: np.ndarray,
    measure: Measure,
    eos_id: int,
    reading: Reading,
    progress: Progress,
) -> np.ndarray:
    """Apply `measure` to all ids; float64, same length: (N,) or (N, K)."""
    keep_memory(KEPT_WHEN_SCORING)
    by_lines = _is_by_lines(model, reading)
    copies: list[tuple[ScoringRow, ScoringRow]] = []
    if by_lines and model.reorders_lines:
        rows, copies = _distinct(ids, cut_lines(ids, eos_id))
    elif by_lines:
        rows = cut_lines(ids, eos_id)
    else:
        rows = cut_stream(len(ids), model.horizon, reading.batch_size)
    result = np.empty(0)
    with torch.inference_mode():
        for batch in _batches(rows, _batch_size(model, reading)):
            window = reading.window or max(1, model.tokens_at_once // len(batch))
            for offset, left, values in _measure_rows(model, ids, measure, batch, eos_id, window):
                if not len(result):
                    result = np.empty((len(ids), *values.shape[2:]))
                done = 0  # without padding
                for row, own in zip(left, values, strict=True):
                    begin = row.first + offset
                    end = min(begin + len(own), row.last)
                    result[begin:end] = own[: end - begin]
                    done += end - begin
                progress(done, len(ids))
    for row, original in copies:
        result[row.first : row.last] = result[original.first : original.last]
        progress(row.last - row.first, len(ids))
    return result


def _distinct(
    ids: np.ndarray, lines: list[ScoringRow]
) -> tuple[list[ScoringRow], list[tuple[ScoringRow, ScoringRow]]]:
    """The distinct lines by length, so that batches have little padding; and every further copy
    of a line, with the first one.
    """
    written = ids.tobytes()
    size = ids.itemsize
    first: dict[bytes, ScoringRow] = {}
    copies = []
    for line in lines:
        original = first.setdefault(written[size * line.first : size * line.last], line)
        if original is not line:
            copies.append((line, original))
    return sorted(first.values(), key=lambda row: row.first - row.last), copies


def cut_lines(ids: np.ndarray, eos_id: int) -> list[ScoringRow]:
    """One piece per line."""
    ends = np.flatnonzero(ids == eos_id) + 1
    if len(ids) and (len(ends) == 0 or ends[-1] != len(ids)):
        ends = np.append(ends, len(ids))
    starts = [0, *ends[:-1].tolist()]
    return [ScoringRow(first, last) for first, last in zip(starts, ends.tolist(), strict=False)]


def cut_stream(length: int, horizon: int | None, batch_size: int) -> list[ScoringRow]:
    """The stream as one row, or as several rows if the horizon allows it."""
    per_row = -(-length // batch_size)
    if horizon is None or per_row <= horizon:
        return [ScoringRow(0, length)] if length else []
    return [
        ScoringRow(first, min(first + per_row, length), horizon if first else 0)
        for first in range(0, length, per_row)
    ]


def _batches(rows: list[ScoringRow], size: int) -> Iterator[list[ScoringRow]]:
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _measure_rows(
    model: LanguageModel,
    ids: np.ndarray,
    measure: Measure,
    rows: list[ScoringRow],
    padding: int,
    window: int,
) -> Iterator[tuple[int, list[ScoringRow], np.ndarray]]:
    """Measure rows in parallel, window by window: the position of a window, the rows that reach
    it, and their values, with padding at the end.
    """
    lengths = np.array([row.last - row.first for row in rows])
    padded = np.full((len(rows), lengths.max()), padding)
    for place, row in zip(padded, rows, strict=True):
        place[: row.last - row.first] = ids[row.first : row.last]
    batch = torch.from_numpy(padded)
    state = _state_before(model, ids, rows)
    left = np.arange(len(rows))
    for begin, end in pairwise(_cuts(lengths, window)):
        if not (reach := lengths[left] > begin).all():
            left, state = left[reach], select(state, torch.from_numpy(np.flatnonzero(reach)))
        values, state = measure(batch[left, begin:end], state)
        yield begin, [rows[row] for row in left.tolist()], values.double().numpy()


def _cuts(lengths: np.ndarray, window: int) -> list[int]:
    """Where windows begin and end: at ends of rows, if that saves padding, and after `window`."""
    longest, *shorter = np.unique(lengths)[::-1].tolist()
    ends = [longest]
    for length in shorter:
        if ends[-1] - length >= max(longest // _WINDOWS, 1):
            ends.append(length)
    cuts = [0]
    for end in reversed(ends):
        cuts += [*range(cuts[-1] + window, end, window), end]
    return cuts


def _state_before(model: LanguageModel, ids: np.ndarray, rows: list[ScoringRow]) -> State:
    """The first state of each row: the initial state, or the state after its warm-up."""
    cold = [row for row in rows if not row.warm_up]
    warm = [row for row in rows if row.warm_up]  # never before a cold one
    states = [model.start(len(cold))] if cold else []
    if warm:
        before = np.stack([ids[row.first - row.warm_up : row.first] for row in warm])
        states.append(model.read(torch.from_numpy(before), model.start(len(warm))))
    return join(states)
