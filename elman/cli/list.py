"""`elman list`: list the components of every kind, read from their registries."""

from importlib import import_module
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Json
from elman.cli.output import print_json, print_table
from elman.errors import choose
from elman.registry import Registry

# The module and name of each kind's registry; imported when listed, because some import torch.
KINDS = {
    "adapters": "elman.adapters:ADAPTERS",
    "attentions": "elman.layers.attentions:ATTENTIONS",
    "averages": "elman.training.averaging:AVERAGES",
    "cells": "elman.cells:CELLS",
    "connections": "elman.layers.layer:CONNECTIONS",
    "corpora": "elman.text.corpora:CORPORA",
    "decoding": "elman.decoding.options:STRATEGIES",
    "exports": "elman.formats:describe_exports",
    "inputs": "elman.layers.inputs:INPUTS",
    "insights": "elman.insight:INSIGHTS",
    "models": "elman.models:MODELS",
    "optimizers": "elman.training.optimizers:OPTIMIZERS",
    "outputs": "elman.layers.outputs:OUTPUTS",
    "poolings": "elman.layers.poolings:POOLINGS",
    "recipes": "elman.recipes:recipe_names",
    "regimes": "elman.training.regimes:REGIMES",
    "schedules": "elman.training.schedules:SCHEDULES",
    "smoothers": "elman.counts.smoothers:SMOOTHERS",
    "spellings": "elman.layers.word_features:SPELLINGS",
    "tag-outputs": "elman.layers.tag_outputs:TAG_OUTPUTS",
    "tasks": "elman.tasks:TASKS",
    "tokenizers": "elman.text:TOKENIZERS",
    "transforms": "elman.decoding.transforms:TRANSFORMS",
}
_KIND = Parameter(help=f"The kind to list: {', '.join(KINDS)}. Default: all.")


def list(kind: Annotated[str | None, _KIND] = None, /, *, json: Json = False) -> None:
    """List the components you can choose: recipes, cells, tokenizers and more.

    For example:
      elman list
      elman list recipes
      elman list cells
    """
    wanted = KINDS if kind is None else {kind: choose(KINDS, kind, "kind")}
    chosen = {name: _members(place) for name, place in wanted.items()}
    if json:
        print_json(chosen)
        return
    for number, (name, members) in enumerate(chosen.items()):
        if number:
            print()
        print_table([name, "what it is"], [*members.items()])


def _members(place: str) -> dict[str, str]:
    """The members of a kind by name, with their descriptions."""
    module, _, name = place.partition(":")
    family = getattr(import_module(module), name)
    if isinstance(family, Registry):
        return family.abouts()
    described: dict[str, str] = family() if callable(family) else family
    return described
