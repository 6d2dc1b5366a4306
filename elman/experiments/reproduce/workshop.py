"""Everything that planning, training and measuring need: the tables, the folder, the machine."""

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
    """The tables, the folder and the machine, and functions that report progress."""

    tables: Tables
    out: Path  # runs are stored in its subfolder `runs`
    results: Path  # the results file
    machine: Machine = field(default_factory=Machine)
    progress: Callable[[str], None] = lambda what: None
    say: Callable[[str], None] = lambda message: None  # urgent messages to the user

    @property
    def runs(self) -> Path:
        return self.out / "runs"

    def kept(self) -> Kept:
        """The results that were measured here."""
        kept = read_kept(self.results)
        kept.follow_renamed_rows(self.tables)
        return kept

    def known(self) -> Kept:
        """The results that were measured here, completed by those that ship with elman."""
        return self.kept().over(read_shipped())

    def set_threads(self) -> None:
        """Fit and score with the threads of the training; loading a run does not set them."""
        if self.machine.threads is not None:
            self.machine.prepare()
