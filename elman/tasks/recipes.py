"""Recipes: settings under a name, shipped with the package or written by the user, as TOML.

Takes a name or a path and overrides, gives the settings of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.config import apply_overrides, as_data, build, read_toml
from elman.errors import InputError, nearest
from elman.models import model_class
from elman.text.tokenizer import TextConfig

_FOLDER = Path(__file__).parent.parent / "recipes"
_SECTIONS = ("text", "model")


@dataclass(kw_only=True)
class RunConfig:
    """Everything that decides how a run comes out."""

    recipe: str
    seed: int
    text: TextConfig
    kind: str  # of the model: a name in MODELS
    model: Any  # the settings of that kind

    def to_data(self) -> dict[str, Any]:
        """Plain data, as the run folder keeps it."""
        return {
            "recipe": self.recipe,
            "seed": self.seed,
            "text": as_data(self.text),
            "model": {"kind": self.kind, **as_data(self.model)},
        }


def recipe_names() -> dict[str, str]:
    """Shipped recipes and what they are for."""
    return {path.stem: read_toml(path)["about"] for path in sorted(_FOLDER.glob("*.toml"))}


def load_recipe(recipe: str, overrides: Iterable[str] = (), seed: int = 0) -> RunConfig:
    """The settings of a recipe with overrides put in."""
    shipped = _FOLDER / f"{recipe}.toml"
    path = Path(recipe)
    if shipped.is_file():
        path = shipped
    elif not path.is_file():
        raise InputError(f"unknown recipe {recipe!r}; {nearest(recipe, recipe_names())}")
    tree = read_toml(path)
    tree.pop("about", None)
    return config_from_data({"recipe": recipe, "seed": seed, **apply_overrides(tree, overrides)})


def config_from_data(data: dict[str, Any]) -> RunConfig:
    """Settings from plain data, checked."""
    for name in data:
        if name not in (*_SECTIONS, "recipe", "seed"):
            raise InputError(f"unknown section {name!r}; {nearest(name, _SECTIONS)}")
    model = dict(data.get("model", {}))
    kind = model.pop("kind", "ngram")
    return RunConfig(
        recipe=data["recipe"],
        seed=data["seed"],
        text=build(TextConfig, data.get("text", {}), "text"),
        kind=kind,
        model=build(model_class(kind).config_class, model, "model"),
    )
