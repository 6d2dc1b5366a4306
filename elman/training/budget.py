"""The budget of a training: a time, or a number of operations.

Takes text like "10m" or "70teraflop"; read by the commands and by `elman reproduce`. A time is wall
clock from the start of the command: reading, measuring, validation and saving are part of it.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field

from elman.errors import InputError

_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_TERAFLOP = {"teraflop": 1.0, "petaflop": 1000.0}
_ENDING, _ENDING_SHARE = 2.0, 0.05  # seconds to save the run and draw its curves; of the budget
_SAVING = 1e-7  # seconds to save one parameter, with its best value and its optimizer
_MOST_ENDING = 0.3  # of the budget
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")


@dataclass(frozen=True)
class Budget:
    """Seconds or teraflop; the other one is None."""

    seconds: float | None = None
    teraflop: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget in a text like 45s, 10m, 2h or 70teraflop."""
        amount, unit = _parse_amount(text)
        if unit not in _SECONDS and unit not in _TERAFLOP:
            raise InputError(
                f"--budget {text}: write a time like 45s, 10m or 2h, or operations like "
                f"70teraflop; the units are {', '.join([*_SECONDS, *_TERAFLOP])}"
            )
        if amount == 0:
            raise InputError(f"--budget {text}: must be above 0")
        if unit in _SECONDS:
            return cls(seconds=amount * _SECONDS[unit])
        return cls(teraflop=amount * _TERAFLOP[unit])

    def ending_seconds(self, parameters: int, calibration: float = 0.0) -> float:
        """The time to keep back for what follows the last validation: to save so many parameters,
        and to calibrate for so many seconds.
        """
        seconds = self.seconds or 0.0
        ending = min(_ENDING, _ENDING_SHARE * seconds) + _SAVING * parameters + calibration
        return min(ending, _MOST_ENDING * seconds)

    def __str__(self) -> str:
        if self.teraflop is not None:
            return f"{self.teraflop:g} teraflop"
        seconds = self.seconds or 0.0
        for unit in ("h", "m"):
            if seconds >= _SECONDS[unit]:
                return f"{seconds / _SECONDS[unit]:g}{unit}"
        return f"{seconds:g}s"


@dataclass(frozen=True)
class Allowance:
    """A budget that is being used, and the settings that the user chose in spite of it."""

    budget: Budget
    started: float = field(default_factory=time.monotonic)
    fixed: frozenset[str] = frozenset()  # like model.hidden_size

    @property
    def left(self) -> float:
        """Seconds until the time is up, negative afterwards; infinite for operations."""
        if self.budget.seconds is None:
            return math.inf
        return self.started + self.budget.seconds - time.monotonic()

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


def parse_time(text: str) -> float:
    """Seconds of "45s", "30m", "2h", "1.5h"."""
    amount, unit = _parse_amount(text)
    if unit not in _SECONDS:
        raise InputError(f"--budget {text}: write a time like 45s, 30m, 2h or 1d")
    return amount * _SECONDS[unit]


def _parse_amount(text: str) -> tuple[float, str]:
    """A number and its unit; 0 and "" if the text is something else."""
    match = _AMOUNT.fullmatch(text.strip().lower())
    return (float(match.group(1)), match.group(2)) if match else (0.0, "")
