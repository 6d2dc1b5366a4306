"""The results file: results and costs as JSON, one entry per row and per training.

The file is written atomically. Every change takes a lock and starts from the current content of the
file, so several processes can store their results in it. A file that cannot be read is refused, not
replaced.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.config import build
from elman.errors import ElmanError, InputError
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable, Tables
from elman.runs.lock import take_lock

FORMAT = "elman reproduced"
VERSION = 1
_PATIENCE = 60.0  # seconds to wait while another process writes the file


@dataclass(kw_only=True)
class Result:
    """The result of a row, with everything needed to verify it."""

    table: str
    row: str
    metric: str
    published: float | None
    measured: float | None  # the mean over the seeds; None: infinite
    spread: float | None = None  # standard deviation over the seeds
    figures: dict[str, float | None] = field(default_factory=dict)  # by seed
    valid: float | None = None  # on the validation text, reported by the training
    verdict: str
    recipe: str = ""
    settings: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    starts_from: str = ""
    experiment: str = ""  # name, task and cell
    seed: int | None = None  # the seed of the training that the details describe
    model: dict[str, Any] = field(default_factory=dict)  # mixture weights and so on
    parameters: int | None = None
    protocol: str = ""
    split: str = ""
    tokens: int | None = None
    data: dict[str, str] = field(default_factory=dict)  # SHA-256 of every split
    runs: dict[str, str] = field(default_factory=dict)  # SHA-256 of the run, by seed
    training_seconds: float | None = None
    evaluation_seconds: float | None = None
    teraflop: float | None = None
    elman: str = ""
    date: str = ""

    def is_of(self, row: PublishedRow) -> bool:
        """Whether the row still has the settings that were measured."""
        ours = (self.recipe, self.settings, self.adapters, self.starts_from, self.experiment)
        theirs = (row.recipe, row.settings, row.adapters, row.starts_from, row.trial)
        return ours == theirs and self.split == row.split

    def by_seed(self) -> dict[str, float | None]:
        """The figure of every seed, also for older results that store only one figure."""
        if self.figures or self.experiment:
            return self.figures
        return {str(self.seed or 0): self.measured}

    def with_seeds_of(self, other: Result) -> Result:
        """This result with the seeds of another result of the same row, and the mean over all.

        The details are those of the lower seed.
        """
        figures = {**other.by_seed(), **self.by_seed()}
        first = self if (self.seed or 0) <= (other.seed or 0) else other
        there = [figure for figure in figures.values() if figure is not None]
        whole = len(there) == len(figures)
        return replace(
            first,
            measured=statistics.fmean(there) if whole else None,
            spread=statistics.stdev(there) if whole and len(there) > 1 else None,
            figures={seed: figures[seed] for seed in sorted(figures, key=int)},
            runs={**other.runs, **self.runs},
            elman=self.elman,
            date=self.date,
        )


@dataclass(kw_only=True)
class Cost:
    """The cost of a training."""

    seconds: float | None = None  # None: not measured on the dataset
    teraflop: float | None = None  # None: a count model
    parameters: int | None = None
    threads: int | None = None
    computed: bool = False  # from published sizes, not measured on the dataset

    def with_threads(self, threads: int | None) -> float | None:
        """Seconds with this many threads: longer with fewer threads than planned, never shorter."""
        if self.seconds is None or not threads or not self.threads:
            return self.seconds
        return self.seconds * max(1.0, self.threads / threads)

    def __str__(self) -> str:
        words = [] if self.seconds is None else [_time(self.seconds)]
        if self.teraflop is not None:
            words.append(f"{self.teraflop:,.0f} teraflop")
        return ", ".join(words) + (" (computed)" if self.computed else "")


def _time(seconds: float) -> str:
    minutes, hours, days = (seconds / unit for unit in (60, 3600, 86400))
    if minutes < 90:
        return f"{seconds:.0f} s" if minutes < 1.5 else f"{minutes:.0f} min"
    return f"{hours:.1f} h" if hours < 48 else f"{days:.1f} days"


@dataclass(kw_only=True)
class Failure:
    """Why a row was set aside."""

    reason: str
    elman: str = ""
    date: str = ""


@dataclass
class Kept:
    """The content of the results file."""

    results: dict[str, Result] = field(default_factory=dict)  # by "table/row"
    costs: dict[str, Cost] = field(default_factory=dict)  # by the name of the run
    failures: dict[str, Failure] = field(default_factory=dict)  # by "table/row"

    def of(self, table: PublishedTable, row: PublishedRow) -> Result | None:
        """The result of a row; None if the row has changed since."""
        found = self.results.get(f"{table.name}/{row.name}")
        return found if found is not None and found.is_of(row) else None

    def add(self, result: Result) -> None:
        """Add a result; it replaces an older one."""
        name = f"{result.table}/{result.row}"
        self.results[name] = result
        self.failures.pop(name, None)

    def over(self, other: Kept) -> Kept:
        """This content, completed by entries that only `other` has."""
        return Kept(
            {**other.results, **self.results},
            {**other.costs, **self.costs},
            {name: failure for name, failure in self.failures.items() if name not in self.results},
        )

    def take_over(self, other: Kept) -> None:
        """Add everything from `other`; its entries replace older ones."""
        self.results.update(other.results)
        self.costs.update(other.costs)
        self.failures = {
            name: failure
            for name, failure in {**self.failures, **other.failures}.items()
            if name not in self.results
        }

    def follow_renamed_rows(self, tables: Tables) -> None:
        """Move a result to the row `…-ours` if that row now has the settings of the result.

        Older files store results of our recipes under the names of the published rows.
        """
        for name, result in [*self.results.items()]:
            table = tables.get(result.table)
            rows = {row.name: row for row in table.rows} if table else {}
            other = rows.get(f"{result.row}-ours")
            if other is None or not result.is_of(other):
                continue
            if result.row in rows and result.is_of(rows[result.row]):
                continue
            del self.results[name]
            renamed = replace(result, row=other.name)
            self.results.setdefault(f"{result.table}/{other.name}", renamed)


def read_kept(path: Path) -> Kept:
    """Read the file; empty if it does not exist."""
    try:
        if not os.path.exists(path):
            return Kept()
        tree = json.loads(path.read_text(encoding="utf-8"))
        if tree["format"] != FORMAT or tree["version"] != VERSION:
            raise ValueError(f"not of the format {FORMAT!r}, version {VERSION}")
        return Kept(
            {name: build(Result, entry, name) for name, entry in tree["results"].items()},
            {name: build(Cost, entry, name) for name, entry in tree["costs"].items()},
            {name: build(Failure, entry, name) for name, entry in tree.get("failures", {}).items()},
        )
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); name another results file"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: not a results file ({reason}); restore it from a copy or move it away"
        ) from None


def write_kept(path: Path, kept: Kept) -> None:
    """Write the file atomically."""
    tree = {
        "format": FORMAT,
        "version": VERSION,
        **{
            part: {name: asdict(entry) for name, entry in sorted(getattr(kept, part).items())}
            for part in ("results", "costs", "failures")
        },
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            text = json.dumps(tree, ensure_ascii=False, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def update_kept(path: Path, change: Callable[[Kept], None]) -> Kept:
    """Read the file, change its content and write it, under a lock."""
    with _locked(path):
        kept = read_kept(path)
        change(kept)
        write_kept(path, kept)
    return kept


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from changing the file."""
    latest = time.monotonic() + _PATIENCE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while (lock := take_lock(path.with_name(f".{path.name}.lock"))) is None:
            if time.monotonic() > latest:
                raise ElmanError(f"{path}: locked by another process for {_PATIENCE:.0f} s")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    try:
        yield
    finally:
        lock.release()


def keep(path: Path, *, result: Result | None = None, costs: dict[str, Cost] | None = None) -> Kept:
    """Add a result or costs to the file."""

    def add(kept: Kept) -> None:
        if result is not None:
            kept.add(result)
        kept.costs.update(costs or {})

    return update_kept(path, add)
