"""Input layers, one per file: from ids to vectors that a network can read."""

from elman.layers.inputs.input import Input, Material
from elman.registry import Registry

__all__ = ["INPUTS", "Input", "Material"]

INPUTS = Registry(
    "input",
    {
        "words": "elman.layers.inputs.words:WordVectors",
        "characters": "elman.layers.inputs.characters:CharacterFilters",
    },
    group="inputs",
)
