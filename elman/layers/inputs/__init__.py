"""Input layers, one per file: from ids to vectors that a network can read."""

from elman.layers.inputs.characters import CharacterFilters
from elman.layers.inputs.input import Input, Material
from elman.layers.inputs.words import WordVectors

__all__ = ["INPUTS", "Input", "Material"]

INPUTS: dict[str, type[Input]] = {
    "words": WordVectors,
    "characters": CharacterFilters,
}
