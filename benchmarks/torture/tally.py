"""Counts the outcomes of the trials of a promise."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_SHOWN = 20  # failures that are stored with their details


@dataclass
class Tally:
    """Trials, outcomes and failures."""

    trials: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)  # outcomes that keep the promise
    examples: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def good(self, what: str) -> None:
        """Count a trial that kept the promise."""
        self.trials += 1
        self.seen[what] += 1

    def bad(self, what: str, detail: str) -> None:
        """Count a trial that broke the promise."""
        self.trials += 1
        self.failures[what] += 1
        if len(self.examples) < _SHOWN:
            self.examples.append(f"{what}: {detail}")
            print(f"FAILED {what}: {detail}", flush=True)

    def largest(self, name: str, value: float) -> None:
        """Keep the largest value of a figure."""
        self.figures[name] = max(value, self.figures.get(name, value))

    def to_data(self) -> dict[str, Any]:
        """Plain data, for the table in the docs."""
        return {
            "trials": self.trials,
            "failures": dict(self.failures),
            "outcomes": dict(self.seen),
            "figures": {name: round(value, 3) for name, value in self.figures.items()},
            "examples": self.examples,
            "seconds": round(time.monotonic() - self.started),
        }
