"""Recipes: settings under a name, shipped with the package or written by the user, as TOML.

Takes a name or a path and overrides, gives the settings of a run.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.config import apply_overrides, as_data, build, convert, read_toml
from elman.errors import InputError, nearest
from elman.models import MODELS
from elman.text.example_splits import ORDERED
from elman.text.tokenizer import TextConfig

_FOLDER = Path(__file__).parent
_SECTIONS = ("text", "model", "training")
_OPTIONS_OF = {
    "cell": "options",
    "smoothing": "options",
    "input": "input_options",
    "output": "output_options",
    "regime": "regime_options",
    "epochs": "min_steps",
    "batch_size": "min_batches",
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides how a run comes out."""

    recipe: str
    seed: int
    text: Any  # TextConfig; of a task, the settings that its model names
    kind: str  # of the model: a name in MODELS
    model: Any  # the settings of that kind
    training: Any = None  # TrainingConfig of a model that is learned by gradients

    def to_data(self) -> dict[str, Any]:
        """Plain data, as the run folder keeps it."""
        data = {
            "recipe": self.recipe,
            "seed": self.seed,
            "text": as_data(self.text),
            "model": {"kind": self.kind, **as_data(self.model)},
        }
        if self.training is not None:
            data["training"] = as_data(self.training)
        return data


def recipe_names() -> dict[str, str]:
    """Shipped recipes and what they are for."""
    return {path.stem: read_toml(path)["about"] for path in sorted(_FOLDER.glob("*.toml"))}


def load_recipe(recipe: str, overrides: Iterable[str] = (), seed: int | None = None) -> RunConfig:
    """The settings of a recipe with overrides put in; a seed that is given wins over all."""
    names = recipe_names()
    path = _FOLDER / f"{recipe}.toml" if recipe in names else Path(recipe)
    if not os.path.isfile(path):  # unlike Path.is_file, at ease with names too long for a file
        raise InputError(f"unknown recipe {recipe!r}; {nearest(recipe, names)}")
    tree = read_toml(path)
    tree.pop("about", None)
    overrides = [*overrides]
    tree = {"seed": 0, **apply_overrides(_without_options(tree, overrides), overrides)}
    if seed is not None:
        tree["seed"] = seed
    if "recipe" in tree:
        raise InputError(f"unknown section 'recipe'; {nearest('recipe', _SECTIONS)}")
    return config_from_data({"recipe": recipe, **tree})


def _without_options(tree: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """A recipe without the options of what is overridden: another cell has others, and so many
    epochs are so many, whatever the recipe has as the least number of steps.
    """
    tree = {name: dict(part) if isinstance(part, dict) else part for name, part in tree.items()}
    for override in overrides:
        section, _, field = override.partition("=")[0].strip().partition(".")
        if field in _OPTIONS_OF and isinstance(tree.get(section), dict):
            tree[section].pop(_OPTIONS_OF[field], None)
    return tree


def config_from_data(data: dict[str, Any]) -> RunConfig:
    """Settings from plain data, checked."""
    for name in data:
        if name not in (*_SECTIONS, "recipe", "seed"):
            raise InputError(f"unknown section {name!r}; {nearest(name, _SECTIONS)}")
    model = data.get("model", {})
    kind = "ngram"
    if isinstance(model, dict):
        kind = convert(model.get("kind", kind), str, "model.kind")
        model = {name: value for name, value in model.items() if name != "kind"}
    family = MODELS.choose(kind)
    text_class = getattr(family, "text_class", TextConfig)
    return RunConfig(
        recipe=convert(data["recipe"], str, "recipe"),
        seed=convert(data["seed"], int, "seed"),
        text=build(text_class, data.get("text", {}), "text"),
        kind=kind,
        model=build(family.config_class, model, "model"),
        training=_training_settings(family, data.get("training")),
    )


def saved_config(data: dict[str, Any], weights: Collection[str] = ()) -> RunConfig:
    """The settings that a run folder keeps, also of an older run, which has fewer of them.

    `weights`: the names of its arrays.
    """
    text, model = data.get("text", {}), data.get("model")
    if isinstance(text, dict) and isinstance(model, dict) and model.get("kind", "ngram") in MODELS:
        family = MODELS[model.get("kind", "ngram")]
        older = {"normalise": "none"}  # version 0.1 took text as it is
        if hasattr(getattr(family, "text_class", None), "split"):
            older["split"] = ORDERED  # and split examples in their order
        renew = getattr(family, "renew_settings", lambda settings, weights: settings)
        data = {**data, "text": {**older, **text}, "model": renew(model, weights)}
    return config_from_data(data)


def _training_settings(family: Any, data: Any) -> Any:
    """The settings of the loop, for models that it trains."""
    if not hasattr(family, "loss"):
        if data is not None:
            raise InputError("section 'training': a count model is not trained in steps; remove it")
        return None
    from elman.training.settings import TrainingConfig

    return build(TrainingConfig, data or {}, "training")
