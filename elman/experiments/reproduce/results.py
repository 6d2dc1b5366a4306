"""The file in which results and costs are kept, JSON, one entry per row and per training.

Takes and gives plain data. It is the old one or the new one whatever happens while it is written;
what cannot be understood is refused, not replaced.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from elman.atomic import replacing
from elman.config import build
from elman.errors import InputError
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable

FORMAT = "elman reproduced"
VERSION = 1


@dataclass(kw_only=True)
class Result:
    """What a row gave here, with everything needed to believe it."""

    table: str
    row: str
    metric: str
    published: float | None
    measured: float | None  # None: infinite
    spread: float | None = None  # standard deviation over the seeds of an experiment
    valid: float | None = None  # of the validation text, as the training saw it
    verdict: str
    recipe: str = ""
    settings: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    experiment: str = ""  # with its task and cell
    seed: int | None = None
    model: dict[str, Any] = field(default_factory=dict)  # weights of mixtures and so on
    parameters: int | None = None
    protocol: str = ""
    split: str = ""
    tokens: int | None = None
    data: dict[str, str] = field(default_factory=dict)  # SHA-256 of every split
    training_seconds: float | None = None
    evaluation_seconds: float | None = None
    teraflop: float | None = None
    elman: str = ""
    date: str = ""

    def is_of(self, row: PublishedRow) -> bool:
        """Whether the row is still what was measured then."""
        ours = (self.recipe, self.settings, self.adapters, self.experiment, self.split)
        return ours == (row.recipe, row.settings, row.adapters, row.trial, row.split)


@dataclass(kw_only=True)
class Cost:
    """What a training costs here."""

    seconds: float
    teraflop: float | None = None  # None: it counts instead
    parameters: int | None = None
    threads: int | None = None

    def __str__(self) -> str:
        minutes, hours, days = (self.seconds / unit for unit in (60, 3600, 86400))
        time = f"{self.seconds:.0f} s" if minutes < 1.5 else f"{minutes:.0f} min"
        time = time if minutes < 90 else f"{hours:.1f} h" if hours < 48 else f"{days:.1f} days"
        return time if self.teraflop is None else f"{time}, {self.teraflop:,.0f} teraflop"


@dataclass
class Kept:
    """Everything that is kept."""

    results: dict[str, Result] = field(default_factory=dict)  # by "table/row"
    costs: dict[str, Cost] = field(default_factory=dict)  # by the name of the run

    def of(self, table: PublishedTable, row: PublishedRow) -> Result | None:
        """The result of a row, unless the row was changed since."""
        found = self.results.get(f"{table.name}/{row.name}")
        return found if found is not None and found.is_of(row) else None

    def add(self, result: Result) -> None:
        """Put a result in, in the place of an older one."""
        self.results[f"{result.table}/{result.row}"] = result


def read_kept(path: Path) -> Kept:
    """What the file holds; nothing if there is none."""
    try:
        if not os.path.exists(path):
            return Kept()
        tree = json.loads(path.read_text(encoding="utf-8"))
        if tree["format"] != FORMAT or tree["version"] != VERSION:
            raise ValueError(f"not of the format {FORMAT!r}, version {VERSION}")
        return Kept(
            {name: build(Result, entry, name) for name, entry in tree["results"].items()},
            {name: build(Cost, entry, name) for name, entry in tree["costs"].items()},
        )
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); name another file of results"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: not a file of results ({reason}); restore it from a copy or move it away"
        ) from None


def write_kept(path: Path, kept: Kept) -> None:
    """Write the file whole or not at all."""
    tree = {
        "format": FORMAT,
        "version": VERSION,
        "results": {name: asdict(result) for name, result in sorted(kept.results.items())},
        "costs": {name: asdict(cost) for name, cost in sorted(kept.costs.items())},
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            text = json.dumps(tree, ensure_ascii=False, indent=1) + "\n"
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def keep(path: Path, *, result: Result | None = None, costs: dict[str, Cost] | None = None) -> Kept:
    """Add to what the file holds by now, and write it."""
    kept = read_kept(path)
    if result is not None:
        kept.add(result)
    kept.costs.update(costs or {})
    write_kept(path, kept)
    return kept
