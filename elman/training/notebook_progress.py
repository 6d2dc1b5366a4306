"""The progress of a training in a notebook: a bar with epochs, perplexity, speed and time left.

Called by `Machine`, so that `elman.train` shows it without being told. Elsewhere it does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from elman.notebooks import NotebookBar, in_notebook
from elman.training.history import criterion

if TYPE_CHECKING:
    from elman.training.loop import TrainingProgress


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
