"""The served models: runs by name, with the questions that each can answer.

Loads run folders when the server starts, and finds the model for a name from a client. A name is
only looked up, never opened as a path. A row does not depend on the rest of its batch: networks
either give it the same bits in every batch, or run in double precision.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import torch

from elman.errors import InputError
from elman.insight import INSIGHTS
from elman.runs.claim import MANIFEST
from elman.studio.errors import Refused
from elman.tasks.language_modelling.inspection import inspect
from elman.tasks.question import Question
from elman.tasks.task import load

_VIEWS = {"generate": "completions", "embed": "embeddings"}  # OpenAI's routes for these questions
_SEEN_WITH = {"jacobians": "gradient-flow"}  # too slow to try: available if the other one is
_TRIED = "one two ( three ) four"  # out-of-vocabulary words are fine here


@dataclass(frozen=True)
class ServedModel:
    """A run with the name that clients use."""

    id: str
    trained: Any  # the result of `load`
    created: int  # seconds since 1970
    questions: dict[str, Question]  # those that it can answer
    path: Path | None = None  # of its run folder

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its questions, and the OpenAI routes that use them."""
        views = [view for question, view in _VIEWS.items() if question in self.questions]
        return (*self.questions, *views)

    @property
    def unit(self) -> str | None:
        """The name of the tokenizer; None for a model without one."""
        tokenizer = getattr(self.trained, "tokenizer", None)
        return None if tokenizer is None else str(tokenizer.name)

    @cached_property
    def views(self) -> list[dict[str, str]]:
        """The views of `inspect` that work for this model, found by trying them on a few words."""
        with torch.inference_mode(False):  # the views need gradients
            tried = [name for name in INSIGHTS if name not in _SEEN_WITH]
            seen = inspect(self.trained, _TRIED, only=tried).insights
        abouts = INSIGHTS.abouts().items()
        return [{"id": n, "about": a} for n, a in abouts if _SEEN_WITH.get(n, n) in seen]

    def describe(self) -> dict[str, Any]:
        """The description in `/v1/models`."""
        trained = self.trained
        tokenizer = getattr(trained, "tokenizer", None)
        model = trained.facts.get("model", {})
        described = trained.describe_model()
        short = {"cell", "layers", "order", "smoothing", "context", "embedding_size", "tied"}
        return {
            "id": self.id,
            "object": "model",
            "created": self.created,
            "owned_by": "elman",
            "kind": trained.config.kind,
            "recipe": last_part(trained.config.recipe),
            "tasks": list(self.tasks),
            "tokenizer": self.unit,
            "vocabulary_size": None if tokenizer is None else len(tokenizer),
            "parameters": model.get("parameters"),
            "validation": trained.facts.get("validation"),
            "samples": trained.facts.get("samples", []),
            "about": {key: value for key, value in described.items() if key in short},
        }


class Served:
    """All served models; the first is the default."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self._models = {model.id: model for model in models}

    def __iter__(self) -> Any:
        return iter(self._models.values())

    def find(self, name: str | None) -> ServedModel:
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            known = ", ".join(self._models)
            raise Refused(
                404, f"no model {name!r} is served; served: {known}", param="model",
                code="model_not_found",
            )  # fmt: skip
        return self._models[name]

    def find_for(self, task: str, name: str | None) -> ServedModel:
        """Find a model that supports a task: the named one, or the first one."""
        if name is None:
            able = [model for model in self._models.values() if task in model.tasks]
            if able:
                return able[0]
            raise Refused(400, f"no served model supports {task}", param="model")
        model = self.find(name)
        if task not in model.tasks:
            can = ", ".join(model.tasks) or "no task here"
            raise Refused(
                400, f"{model.id}: {model.trained.config.kind} does not support {task}; "
                f"it supports: {can}",
                param="model",
            )  # fmt: skip
        return model


def load_served(runs: Sequence[str]) -> Served:
    """Load the models in run folders, each named after its folder."""
    if not runs:
        raise InputError("name at least one run to serve")
    models: list[ServedModel] = []
    for run in runs:
        trained = load(run)
        name = _free_name(Path(run).resolve().name, [model.id for model in models])
        models.append(as_served(name, trained, Path(run)))
    return Served(models)


def as_served(name: str, trained: Any, path: Path | None = None) -> ServedModel:
    """Prepare a trained model for serving under a name."""
    has_manifest = path is not None and (path / MANIFEST).exists()  # else it is no run folder
    created = int((path / MANIFEST).stat().st_mtime) if path is not None and has_manifest else 0
    served = trained.for_serving(name)  # messages use this name and do not expose the path
    return ServedModel(name, served, created, served.questions, path if has_manifest else None)


def last_part(place: Any) -> str | None:
    """The name of a recipe or corpus, without its folders."""
    return None if place is None else PurePath(str(place)).name


def _free_name(name: str, taken: list[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free
