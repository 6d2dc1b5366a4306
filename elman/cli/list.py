"""`elman list`: everything there is to choose from, read from the rooms' own dicts."""

from collections.abc import Callable
from importlib import import_module

from elman.cli.arguments import Json
from elman.cli.output import print_json, print_table
from elman.errors import choose
from elman.registry import Registry


def list(kind: str | None = None, /, *, json: Json = False) -> None:
    """Everything there is to choose from.

    For example:
      elman list
      elman list recipes
      elman list cells

    Parameters
    ----------
    kind
        adapters, averages, cells, connections, corpora, decoding, inputs, models, optimizers,
        outputs, recipes, regimes, schedules, smoothers or tokenizers; none: all.
    """
    wanted = [*_FAMILIES] if kind is None else [kind]
    chosen = {family: choose(_FAMILIES, family, "kind")() for family in wanted}
    if json:
        print_json(chosen)
        return
    for number, (family, members) in enumerate(chosen.items()):
        if number:
            print()
        print_table([family, "what it is"], [*members.items()])


def _about(room: str, name: str) -> Callable[[], dict[str, str]]:
    """What the members of a room's dict are; the room is imported on use, some with torch."""

    def members() -> dict[str, str]:
        family = getattr(import_module(f"elman.{room}"), name)
        if isinstance(family, Registry):
            return family.abouts()
        return {key: getattr(member, "about", member) for key, member in family.items()}

    return members


def _recipes() -> dict[str, str]:
    from elman.tasks.recipes import recipe_names

    return recipe_names()


_FAMILIES: dict[str, Callable[[], dict[str, str]]] = {
    "adapters": _about("adapters", "ADAPTERS"),
    "averages": _about("training.averaging", "AVERAGES"),
    "cells": _about("cells", "CELLS"),
    "connections": _about("layers", "CONNECTIONS"),
    "corpora": _about("text.corpora", "CORPORA"),
    "decoding": _about("decoding.options", "STRATEGIES"),
    "models": _about("models", "MODELS"),
    "optimizers": _about("training.optimizers", "OPTIMIZERS"),
    "inputs": _about("layers.inputs", "INPUTS"),
    "outputs": _about("layers.outputs", "OUTPUTS"),
    "recipes": _recipes,
    "regimes": _about("training.regimes", "REGIMES"),
    "schedules": _about("training.schedules", "SCHEDULES"),
    "smoothers": _about("counts.smoothers", "SMOOTHERS"),
    "tokenizers": _about("text", "TOKENIZERS"),
}
