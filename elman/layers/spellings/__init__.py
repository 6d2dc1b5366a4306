"""Vectors of words from their characters, one way per file; for words that no list knows."""

from elman.registry import Registry

SPELLINGS = Registry(
    "way of spelling",
    {
        "none": "elman.layers.spellings.nothing:Nothing",
        "cnn": "elman.layers.spellings.filters:Filters",
        "rnn": "elman.layers.spellings.recurrent:RecurrentSpelling",
    },
    group="spellings",
)
