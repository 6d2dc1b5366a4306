"""Where rows are measured: the tables, the folder, the machine.

Made by the command line, handed to everything here that plans, trains or measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from elman.experiments.reproduce.registry import Tables
from elman.experiments.reproduce.results import Kept, read_kept
from elman.experiments.reproduce.shipped import read_shipped
from elman.training.machine import Machine


@dataclass
class Workshop:
    """Where rows are measured, and who is told about it."""

    tables: Tables
    out: Path  # runs go into a folder `runs` in it
    results: Path  # the file of results
    machine: Machine = field(default_factory=Machine)
    progress: Callable[[str], None] = lambda what: None
    say: Callable[[str], None] = lambda message: None  # what a user should know at once

    @property
    def runs(self) -> Path:
        return self.out / "runs"

    def kept(self) -> Kept:
        """What was measured here."""
        kept = read_kept(self.results)
        kept.follow_renamed_rows(self.tables)
        return kept

    def known(self) -> Kept:
        """What was measured here, and what is shipped with elman where there is nothing here."""
        return self.kept().over(read_shipped())

    def set_threads(self) -> None:
        """Fit and score with as many threads as a training has; a loaded run does not set them."""
        if self.machine.threads is not None:
            self.machine.prepare()
