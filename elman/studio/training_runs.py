"""Trainings in the folder given with `--runs`: which there are, how far they are, their histories.

Takes a folder when the server starts and looks into it anew at every request, so a training that
goes on is seen growing. A name that a client sends is looked up among those found, never opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elman.errors import ElmanError
from elman.runs.folder import read_run
from elman.runs.lock import is_being_trained
from elman.runs.manifest import MANIFEST
from elman.runs.regular import open_regular
from elman.studio.errors import Refused
from elman.studio.served import ServedModel, last_part
from elman.training.history import HISTORY, read_history

_DEPTHS = ("*", "*/*")  # a run beside others, or in the folder of a series


@dataclass(frozen=True)
class TrainingRun:
    """A run folder, as far as people compare it."""

    name: str
    path: Path
    config: dict[str, Any]
    facts: dict[str, Any]
    unit: str | None = None  # what a token is: the name of the tokenizer
    served: str | None = None  # the id of the model, if it is served

    @property
    def is_training(self) -> bool:
        """Whether a process trains it at this moment."""
        return is_being_trained(self.path)

    def history(self) -> list[dict[str, Any]]:
        """Every record up to now."""
        return read_history(self.path)

    def describe(self) -> dict[str, Any]:
        """What `/v1/runs` says of it."""
        model = self.config.get("model", {})
        training = self.facts.get("training") or {}
        return {
            "name": self.name,
            "kind": model.get("kind"),
            "cell": model.get("cell"),
            "recipe": last_part(self.config.get("recipe")),
            "data": last_part((self.facts.get("data") or {}).get("name")),
            "training": self.is_training,
            "finished": training.get("finished"),
            "records": _count_lines(self.path / HISTORY),
            "epoch": training.get("epochs"),
            "seconds": self.facts.get("seconds"),
            "parameters": (self.facts.get("model") or {}).get("parameters"),
            "validation": self.facts.get("validation"),
            "served": self.served,
        }


@dataclass
class TrainingRuns:
    """The runs of a folder; those that are served are known by their place."""

    folder: Path | None
    served: dict[Path, str] = field(default_factory=dict)
    _read: dict[Path, tuple[int, TrainingRun | None]] = field(default_factory=dict)

    @classmethod
    def beside(cls, folder: Path | None, models: Iterable[ServedModel]) -> TrainingRuns:
        """The runs of a folder, and which of them are served."""
        return cls(folder, {m.path.resolve(): m.id for m in models if m.path is not None})

    def list(self) -> list[TrainingRun]:
        """Every run that can be read, by name."""
        if self.folder is None:
            return []
        found = [
            self._run(manifest.parent)
            for depth in _DEPTHS
            for manifest in sorted(self.folder.glob(f"{depth}/{MANIFEST}"))
            if not manifest.parent.name.startswith(".")  # a run that is not in its place yet
        ]
        return [run for run in found if run is not None]

    def find(self, name: str) -> TrainingRun:
        """The run of a name."""
        for run in self.list():
            if run.name == name:
                return run
        raise Refused(404, f"no training {name!r} is in the folder that was given with --runs")

    def _run(self, path: Path) -> TrainingRun | None:
        """A run, read again only if it was written since; None if it cannot be read."""
        try:
            written = (path / MANIFEST).stat().st_mtime_ns
        except OSError:
            return None
        if self._read.get(path, (0, None))[0] != written:
            self._read[path] = (written, self._read_run(path))
        return self._read[path][1]

    def _read_run(self, path: Path) -> TrainingRun | None:
        assert self.folder is not None
        try:
            parts = read_run(path, ("config.json", "facts.json", "tokenizer.json"))
            config, facts = parts["config.json"], parts["facts.json"]
        except (ElmanError, OSError, KeyError):
            return None  # a damaged run is no reason not to show the others
        if not isinstance(config, dict) or not isinstance(facts, dict):
            return None
        name = path.relative_to(self.folder).as_posix()
        unit = parts.get("tokenizer.json", {}).get("tokenizer")
        return TrainingRun(name, path, config, facts, unit, self.served.get(path.resolve()))


def _count_lines(path: Path) -> int:
    try:
        with open_regular(path) as file:
            return file.read().count(b"\n")
    except (OSError, ElmanError):
        return 0
