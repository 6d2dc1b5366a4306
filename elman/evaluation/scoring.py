"""Log probability of every token of a text under any model, or any other number per token.

Takes a model and ids, gives one number per token, in order. The result does not depend on how the
work is cut up:

    stream   one long row; cut into several rows only if the model forgets after `horizon` tokens,
             each row then first reads the tokens before its own

             t0 t1 t2 t3 t4 t5 | t6 … t11 | t12 … t17
                        └ read ┘ scored

    line     every line is a row of its own, from the start state
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State, join

DEFAULT_WINDOW = 1 << 12  # tokens: often enough to show progress where a model is slow
# Takes ids (B, T) and the state before them, gives a number for each (B, T) and the state after.
Measure = Callable[[torch.Tensor, State], tuple[torch.Tensor, State]]


@dataclass(frozen=True)
class Row:
    """A piece of the text that is scored as one row of a batch."""

    first: int
    last: int
    warm_up: int = 0  # how many tokens before `first` are read, unscored


def score_ids(
    model: LanguageModel,
    ids: np.ndarray,
    *,
    eos_id: int,
    reset: str = "stream",
    batch_size: int = 1,
    window: int | None = DEFAULT_WINDOW,
    progress: Callable[[int, int], None] = lambda tokens, of: None,
) -> np.ndarray:
    """Natural-log probabilities of ids, float64, same length."""
    return each_token(
        model,
        ids,
        model.score,
        eos_id=eos_id,
        reset=reset,
        batch_size=batch_size,
        window=window,
        progress=progress,
    )


def each_token(
    model: LanguageModel,
    ids: np.ndarray,
    measure: Measure,
    *,
    eos_id: int,
    reset: str = "stream",
    batch_size: int = 1,
    window: int | None = DEFAULT_WINDOW,
    progress: Callable[[int, int], None] = lambda tokens, of: None,
) -> np.ndarray:
    """What `measure` gives for each of the ids, float64, same length."""
    for name, size in (("batch_size", batch_size), ("window", window)):
        if size is not None and size < 1:
            raise InputError(f"{name}={size}: must be at least 1")
    alone = model.resets_at_lines and model.horizon is None  # then it gives the same numbers
    if reset == "line" or alone:
        rows = cut_lines(ids, eos_id)
    else:
        rows = cut_stream(len(ids), model.horizon, batch_size)
    result = np.empty(len(ids))
    with torch.inference_mode():
        for batch in _batches(rows, batch_size):
            for offset, values in _measure_rows(model, ids, measure, batch, eos_id, window):
                for row, own in zip(batch, values, strict=True):
                    begin = min(row.first + offset, row.last)
                    end = min(begin + len(own), row.last)
                    result[begin:end] = own[: end - begin]
                progress(values.size, len(ids))
    return result


def cut_lines(ids: np.ndarray, eos_id: int) -> list[Row]:
    """Every line by itself."""
    ends = np.flatnonzero(ids == eos_id) + 1
    if len(ids) and (len(ends) == 0 or ends[-1] != len(ids)):
        ends = np.append(ends, len(ids))
    starts = [0, *ends[:-1].tolist()]
    return [Row(first, last) for first, last in zip(starts, ends.tolist(), strict=False)]


def cut_stream(length: int, horizon: int | None, batch_size: int) -> list[Row]:
    """The whole stream as one row, or as several when the horizon allows it."""
    per_row = -(-length // batch_size)
    if horizon is None or per_row <= horizon:
        return [Row(0, length)] if length else []
    return [
        Row(first, min(first + per_row, length), horizon if first else 0)
        for first in range(0, length, per_row)
    ]


def _batches(rows: list[Row], size: int) -> Iterator[list[Row]]:
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _measure_rows(
    model: LanguageModel,
    ids: np.ndarray,
    measure: Measure,
    rows: list[Row],
    padding: int,
    window: int | None,
) -> Iterator[tuple[int, np.ndarray]]:
    """What is measured in rows side by side, window by window, padded at the end."""
    longest = max(row.last - row.first for row in rows)
    padded = np.full((len(rows), longest), padding)
    for place, row in zip(padded, rows, strict=True):
        place[: row.last - row.first] = ids[row.first : row.last]
    batch = torch.from_numpy(padded)
    state = _state_before(model, ids, rows)
    window = window or longest
    for offset in range(0, longest, window):
        values, state = measure(batch[:, offset : offset + window], state)
        yield offset, values.double().numpy()


def _state_before(model: LanguageModel, ids: np.ndarray, rows: list[Row]) -> State:
    """The state each row starts from: nothing read, or its warm-up."""
    cold = [row for row in rows if not row.warm_up]
    warm = [row for row in rows if row.warm_up]  # never before a cold one
    states = [model.start(len(cold))] if cold else []
    if warm:
        before = np.stack([ids[row.first - row.warm_up : row.first] for row in warm])
        states.append(model.read(torch.from_numpy(before), model.start(len(warm))))
    return join(states)
