"""Trainings in the folder given with `--runs`: their names, progress and histories.

The folder is set when the server starts and read again at every request, so running trainings show
their progress. A name from a client is only compared with the names found, never opened as a path.

The ladder shows served models and trainings in groups, best first. Two values share a group only if
they were measured on the same text, with the same tokens and the same measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elman.errors import ElmanError
from elman.models import MODELS
from elman.runs.claim import MANIFEST
from elman.runs.folder import read_run
from elman.runs.lock import is_being_trained
from elman.runs.parts import open_regular
from elman.studio.errors import Refused
from elman.studio.served import ServedModel, last_part
from elman.tasks.saved_runs import task_of
from elman.training.history import HISTORY, read_history

_DEPTHS = ("*", "*/*")  # a single run, or a run in the folder of a series
_MEASURES = ("perplexity", "error", "span_error", "label_error")  # of a validation; lower is better


@dataclass(frozen=True)
class TrainingRun:
    """The facts of a run folder that the page shows and compares."""

    name: str
    path: Path
    config: dict[str, Any]
    facts: dict[str, Any]
    unit: str | None = None  # the name of the tokenizer
    served: str | None = None  # the id of the model, if it is served

    @property
    def is_training(self) -> bool:
        return is_being_trained(self.path)

    def history(self) -> list[dict[str, Any]]:
        return read_history(self.path)

    def describe(self) -> dict[str, Any]:
        """The description in `/v1/runs`."""
        model = self.config.get("model", {})
        training = self.facts.get("training") or {}
        return {
            "name": self.name,
            "kind": model.get("kind"),
            "cell": model.get("cell"),
            "order": model.get("order"),
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
    """The runs of a folder; served ones are recognised by their path."""

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
            if not manifest.parent.name.startswith(".")  # a run that is still being written
        ]
        return [run for run in found if run is not None]

    def find(self, name: str) -> TrainingRun:
        for run in self.list():
            if run.name == name:
                return run
        raise Refused(404, f"no training {name!r} in the folder given with --runs")

    def _run(self, path: Path) -> TrainingRun | None:
        """A run, read again only if it changed; None if it cannot be read."""
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
            return None  # show the other runs even if one is damaged
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


# The ladder ---------------------------------------------------------------------------------------


def rungs(models: Iterable[ServedModel], runs: Iterable[TrainingRun]) -> list[dict[str, Any]]:
    """The groups, the largest first."""
    every = [*map(_of_served, models), *(_of_run(run) for run in runs if run.served is None)]
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row, key, head in filter(None, every):
        groups.setdefault(key, {**head, "rows": []})["rows"].append(row)
    for group in groups.values():
        group["rows"].sort(key=lambda row: (row["value"], row["name"]))
    return sorted(groups.values(), key=lambda group: -len(group["rows"]))


Rung = tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]


def _of_served(model: ServedModel) -> Rung | None:
    trained = model.trained
    row = {"name": model.id, "served": model.id, "training": False}
    return _rung(row, trained.config.to_data(), trained.facts, model.unit)


def _of_run(run: TrainingRun) -> Rung | None:
    row = {"name": run.name, "served": None, "training": run.is_training}
    return _rung(row, run.config, run.facts, run.unit)


def _rung(
    row: dict[str, Any], config: dict[str, Any], facts: dict[str, Any], unit: str | None
) -> Rung | None:
    """A row, the key of its comparable group, and the facts that the group shares."""
    validation = facts.get("validation") or {}
    measure = next((measure for measure in _MEASURES if measure in validation), None)
    if measure is None or not isinstance(validation[measure], int | float):
        return None
    data, model = facts.get("data") or {}, config.get("model") or {}
    vocabulary = (facts.get("model") or {}).get("vocabulary_size")
    head = {
        "data": last_part(data.get("name")),
        "unit": unit,
        "vocabulary_size": vocabulary,
        "measure": measure,
        "lower_is_better": True,
        "counted": _counted(str(model.get("kind"))),
        "tokens": validation.get("tokens"),
    }
    hashes = tuple(sorted(map(str, (data.get("sha256") or {}).values())))
    split = (config.get("text") or {}).get("split")
    # A network's windows may leave out a few tokens of the text, so their number is not compared.
    key = (hashes, split, unit, vocabulary, measure)
    row = {
        **row,
        "kind": model.get("kind"),
        "recipe": last_part(config.get("recipe")),
        "cell": model.get("cell"),
        "order": model.get("order"),
        "parameters": (facts.get("model") or {}).get("parameters"),
        "seconds": facts.get("seconds"),
        "value": validation[measure],
        "bits_per_byte": _bits_per_byte(validation, data),
    }
    return row, key, head


def _counted(kind: str) -> str:
    """The unit that a validation counts: tokens, words or texts."""
    return task_of(kind).judged if kind in MODELS else "tokens"


def _bits_per_byte(validation: dict[str, Any], data: dict[str, Any]) -> float | None:
    """Bits per byte from the perplexity, if the numbers of tokens and bytes are known."""
    tokens, size = data.get("valid_tokens"), data.get("valid_bytes")
    perplexity = validation.get("perplexity")
    if not tokens or not size or not perplexity:
        return None
    return math.log2(perplexity) * tokens / size
