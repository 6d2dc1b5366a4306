"""The progress of a training, and its display in a notebook: a bar with speed and time left.

The loop reports a `TrainingProgress`; commands print it. `Machine` calls `watch_in_notebook`, so
that `elman.train` shows it in notebooks without being told. `tally` counts other work for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from elman.notebooks import NotebookBar, in_notebook
from elman.training.history import criterion


@dataclass
class TrainingProgress:
    """The progress of a training, for display."""

    epochs: float
    of_epochs: float
    tokens_per_second: float
    perplexity: float  # of the last steps, on the training text
    validation: float | None  # perplexity, or the criterion of the model
    judged_by: str
    seconds_left: float
    unit: str = "tokens"  # what its speed counts


def watch_in_notebook() -> Callable[[TrainingProgress], None]:
    """A function that shows progress, in a notebook only."""
    if not in_notebook():
        return lambda progress: None
    bar = NotebookBar()
    return lambda progress: bar.show(progress.epochs / progress.of_epochs, describe(progress))


def describe(progress: TrainingProgress) -> str:
    """The progress in one line."""
    learned = f"perplexity {progress.perplexity:,.2f}"
    if progress.judged_by != "perplexity":
        learned = f"loss {math.log(progress.perplexity):.4f}"
    parts = [f"epoch {progress.epochs:.2f} of {progress.of_epochs:.4g}", learned]
    if progress.validation is not None:
        name, value = criterion(progress.judged_by, progress.validation)
        parts.append(f"validation {name} {value:,.4g}")
    speed = f"{progress.tokens_per_second:,.0f} {progress.unit}/s"
    return " · ".join([*parts, speed, f"{progress.seconds_left:,.0f} s left"])


def tally() -> Callable[[int, int], int]:
    """A function that takes (newly done, total) and returns how many are done of this total; a new
    total, or more after the last one, starts a new count.
    """
    done = of = 0

    def add(amount: int, total: int) -> int:
        nonlocal done, of
        if done >= of or total != of:
            done, of = 0, total
        done += amount
        return done

    return add
