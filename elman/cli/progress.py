"""A training that can be watched: what it does now, how fast, how long yet, and what went wrong.

Takes settings of a machine, gives the machine and a progress line; called by `elman train` and
`elman reproduce`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from elman.cli.output import duration, live_line, note
from elman.training.machine import Machine

if TYPE_CHECKING:
    from elman.training.loop import TrainingProgress
_PROGRESS_SECONDS = 10.0  # between lines where there is no terminal


@contextmanager
def watched(settings: dict[str, Any]) -> Iterator[tuple[Machine, Callable[[str], None]]]:
    """A machine made of these settings, and a line that shows what it does; of several processes,
    the first one's.
    """
    if settings["processes"].rank:
        yield Machine(**settings), lambda what: None
        return
    told: set[str] = set()

    def note_once(message: str) -> None:
        """Several trainings on one text have the same to say."""
        if message not in told:
            told.add(message)
            note(message)

    with live_line(_PROGRESS_SECONDS) as line:
        machine = Machine(
            **settings,
            watch=lambda progress: line(_progress_line(progress)),
            record=_warn,
            note=note_once,
            warn=note_once,
        )
        yield machine, lambda what: line(f"{what} …")


def _warn(record: dict[str, Any]) -> None:
    """Say what a user should know at once; the rest is in the history."""
    if "diverged_at_step" in record:
        note(
            f"step {record['diverged_at_step']} diverged ({record['problem']}); back to step "
            f"{record['step']} with {record['rate_factor']:g} times the rate"
        )


def _progress_line(progress: TrainingProgress) -> str:
    learned, judged_by = f"perplexity {_figure(progress.perplexity)}", ""
    if progress.judged_by != "perplexity":
        learned, judged_by = f"loss {math.log(progress.perplexity):.4f}", f"{progress.judged_by} "
    validation = ""
    if progress.validation is not None:
        validation = f" · validation {judged_by}{_figure(progress.validation)}"
    return (
        f"epoch {progress.epochs:.2f} of {progress.of_epochs:g} · {learned}{validation} · "
        f"{progress.tokens_per_second:,.0f} tokens/s · {duration(progress.seconds_left)} left"
    )


def _figure(value: float) -> str:
    """With two decimals, or four of a share; a number of many digits in short."""
    if value < 1:
        return f"{value:.4f}"
    return f"{value:.2f}" if value < 1e7 else f"{value:.3g}"
