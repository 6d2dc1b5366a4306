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
SECTIONS = ("text", "model", "training")
_FINE_TUNING = "fine_tuning"  # settings that apply if a run begins with a language model
_OPTIONS_OF = {
    "cell": "options",
    "smoothing": "options",
    "input": "input_options",
    "output": "output_options",
    "copy": "output_options",  # label smoothing needs another output
    "regime": "regime_options",
    "epochs": "min_steps",
    "batch_size": "min_batches",
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that determines a run."""

    recipe: str
    seed: int
    text: Any  # TextConfig, or the text settings of a task
    kind: str  # of the model: a name in MODELS
    model: Any  # the settings of that kind
    training: Any = None  # TrainingConfig of a model that is trained by gradients

    def to_data(self) -> dict[str, Any]:
        """Plain data, as stored in the run folder."""
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
    """The shipped recipes and their descriptions."""
    return {path.stem: read_toml(path)["about"] for path in _shipped()}


def shipped_names() -> tuple[str, ...]:
    """The names of the shipped recipes; no file is read."""
    return tuple(path.stem for path in _shipped())


def _shipped() -> list[Path]:
    return sorted(_FOLDER.glob("*.toml"))


def load_recipe(
    recipe: str,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    begin_with: dict[str, Any] | None = None,
) -> RunConfig:
    """The settings of a recipe with overrides applied; a given seed has the last word.

    `begin_with`: sections with the settings of a language model to fine-tune. They replace those of
    the recipe, and so does its section `fine_tuning`.
    """
    names = recipe_names()
    path = _FOLDER / f"{recipe}.toml" if recipe in names else Path(recipe)
    if not os.path.isfile(path):  # unlike Path.is_file, accepts names that are too long for a file
        raise InputError(f"unknown recipe {recipe!r}; {nearest(recipe, names)}")
    tree = read_toml(path)
    tree.pop("about", None)
    fine_tuning = tree.pop(_FINE_TUNING, {})
    if begin_with is not None:
        tree = _merged(_merged(tree, fine_tuning), begin_with)
    overrides = [*overrides]
    tree = {"seed": 0, **apply_overrides(_without_options(tree, overrides), overrides)}
    if seed is not None:
        tree["seed"] = seed
    if "recipe" in tree:
        raise InputError(f"unknown section 'recipe'; {nearest('recipe', SECTIONS)}")
    return config_from_data({"recipe": recipe, **tree})


def _merged(tree: dict[str, Any], replacing: Any) -> dict[str, Any]:
    """A tree whose sections have the fields of another one too; the other one wins."""
    if not isinstance(replacing, dict) or not all(isinstance(p, dict) for p in replacing.values()):
        raise InputError(
            f"section {_FINE_TUNING!r}: write its settings in sections like "
            f"[{_FINE_TUNING}.training]"
        )
    own = {name: tree.get(name, {}) for name in replacing}
    merged = {
        name: {**own[name], **part} if isinstance(own[name], dict) else own[name]
        for name, part in replacing.items()
    }
    return {**tree, **merged}


def _without_options(tree: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """A recipe without the options of an overridden component: another cell has others. Given
    epochs or a given batch size also cancel the minimum in the recipe.
    """
    tree = {name: dict(part) if isinstance(part, dict) else part for name, part in tree.items()}
    for override in overrides:
        section, _, field = override.partition("=")[0].strip().partition(".")
        if field in _OPTIONS_OF and isinstance(tree.get(section), dict):
            tree[section].pop(_OPTIONS_OF[field], None)
    return tree


def config_from_data(data: dict[str, Any]) -> RunConfig:
    """Build and check the settings from plain data."""
    for name in data:
        if name not in (*SECTIONS, "recipe", "seed"):
            raise InputError(f"unknown section {name!r}; {nearest(name, SECTIONS)}")
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
    """The settings of a run folder, including those of older runs, which have fewer.

    `weights`: the names of the arrays of the run.
    """
    text, model = data.get("text", {}), data.get("model")
    if isinstance(text, dict) and isinstance(model, dict) and model.get("kind", "ngram") in MODELS:
        family = MODELS[model.get("kind", "ngram")]
        older = {"normalise": "none"}  # version 0.1 did not normalise text
        if hasattr(getattr(family, "text_class", None), "split"):
            older["split"] = ORDERED  # and split examples in order
        renew = getattr(family, "renew_settings", lambda settings, weights: settings)
        data = {**data, "text": {**older, **text}, "model": renew(model, weights)}
    return config_from_data(data)


def _training_settings(family: Any, data: Any) -> Any:
    """The settings of the training loop, for neural models."""
    if not hasattr(family, "loss"):
        if data is not None:
            raise InputError(
                "section 'training': count models have no training settings; remove it"
            )
        return None
    from elman.training.settings import TrainingConfig

    return build(TrainingConfig, data or {}, "training")
