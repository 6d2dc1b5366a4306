"""The models that are served: runs by name, with what each can do.

Takes run folders when the server starts, gives a model for the name that a client writes; a name is
looked up and never opened. Networks are kept in double precision: a row of a batch then says the
same whatever stands beside it, since what rounding changes is far below what a draw can see.
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

_VIEWS = {"generate": "completions", "embed": "embeddings"}  # OpenAI-shaped routes of questions
_SEEN_WITH = {"jacobians": "gradient-flow"}  # too much work to try: there where the other one is
_TRIED = "one two ( three ) four"  # words that a model does not know will do


@dataclass(frozen=True)
class ServedModel:
    """A run under the name that clients call it by."""

    id: str
    trained: Any  # what `load` gives
    created: int  # seconds since 1970
    questions: dict[str, Question]  # those that it can answer
    path: Path | None = None  # of its run folder

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it can do: its questions, and the OpenAI-shaped routes made of them."""
        views = [view for question, view in _VIEWS.items() if question in self.questions]
        return (*self.questions, *views)

    @property
    def unit(self) -> str | None:
        """What a token is: the name of the tokenizer, of a model that has one."""
        tokenizer = getattr(self.trained, "tokenizer", None)
        return None if tokenizer is None else str(tokenizer.name)

    @cached_property
    def views(self) -> list[dict[str, str]]:
        """The views of `inspect` that show something of this model: tried once, on a few words."""
        with torch.inference_mode(False):  # gradients are what is looked at
            tried = [name for name in INSIGHTS if name not in _SEEN_WITH]
            seen = inspect(self.trained, _TRIED, only=tried).insights
        abouts = INSIGHTS.abouts().items()
        return [{"id": n, "about": a} for n, a in abouts if _SEEN_WITH.get(n, n) in seen]

    def describe(self) -> dict[str, Any]:
        """What `/v1/models` says of it."""
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
    """All of them, the first being the one that is meant when none is named."""

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
        """The model of a name, which must be able to do a task; unnamed, the first that is."""
        if name is None:
            able = [model for model in self._models.values() if task in model.tasks]
            if able:
                return able[0]
            raise Refused(400, f"no served model can do {task}", param="model")
        model = self.find(name)
        if task not in model.tasks:
            can = ", ".join(model.tasks) or "nothing here"
            raise Refused(
                400, f"{model.id}: a {model.trained.config.kind} cannot do {task}; it can: {can}",
                param="model",
            )  # fmt: skip
        return model


def load_served(runs: Sequence[str]) -> Served:
    """The models in run folders, each named after its folder."""
    if not runs:
        raise InputError("name at least one run to serve")
    models: list[ServedModel] = []
    for run in runs:
        trained = load(run)
        name = _free_name(Path(run).resolve().name, [model.id for model in models])
        models.append(as_served(name, trained, Path(run)))
    return Served(models)


def as_served(name: str, trained: Any, path: Path | None = None) -> ServedModel:
    """A trained model under a name, ready to be asked."""
    created = 0 if path is None else int((path / MANIFEST).stat().st_mtime)
    served = trained.for_serving(name)  # messages call it so, and say nothing of where it lies
    return ServedModel(name, served, created, served.questions, path)


def last_part(place: Any) -> str | None:
    """The name of a recipe or corpus, without the folders that it lies in."""
    return None if place is None else PurePath(str(place)).name


def _free_name(name: str, taken: list[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free
