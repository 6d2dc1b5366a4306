"""Which views of `inspect` a served model has something to show in: tried once, on a few words.

Takes served models, gives the views of each, as `GET /v1/inspect?model=` lists them; so the page
asks for nothing that cannot be seen. Called by `app.py`.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.insight import INSIGHTS
from elman.studio.served import ServedModel
from elman.tasks.language_modelling.inspection import inspect

_AS = {"jacobians": "gradient-flow"}  # too much work to try: there where the other one is
_TEXT = "one two ( three ) four"  # words that a model does not know will do


class ModelViews:
    """The views of every model, found when somebody asks for them first."""

    def __init__(self) -> None:
        self._known: dict[str, list[dict[str, Any]]] = {}

    def of(self, model: ServedModel) -> list[dict[str, Any]]:
        """Name and description of every view that shows something of this model."""
        if model.id not in self._known:
            self._known[model.id] = _find(model)
        return self._known[model.id]


def _find(model: ServedModel) -> list[dict[str, Any]]:
    with torch.inference_mode(False):  # gradients are what is looked at
        tried = [name for name in INSIGHTS if name not in _AS]
        seen = inspect(model.trained, _TEXT, only=tried).insights
    return [
        {"id": name, "about": about}
        for name, about in INSIGHTS.abouts().items()
        if _AS.get(name, name) in seen
    ]
