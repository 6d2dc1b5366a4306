"""From the vectors of a sentence's words to one vector of the sentence, one way per file."""

from elman.registry import Registry

POOLINGS = Registry(
    "pooling",
    {
        "last": "elman.layers.poolings.last:LastState",
        "mean": "elman.layers.poolings.mean:Mean",
        "max": "elman.layers.poolings.maximum:Maximum",
        "attention": "elman.layers.poolings.attention:AttentionPooling",
    },
    group="poolings",
)
