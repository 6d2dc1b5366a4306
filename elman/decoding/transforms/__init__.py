"""Ways to reshape the distribution of the next token before drawing from it, by name.

One file each, one line here. The options of `model.generate`, the flags and the help of
`elman generate`, `elman list decoding` and the tests of what holds for all of them read this list;
the order is that in which they are applied when several are asked for.
"""

from elman.registry import Registry

TRANSFORMS = Registry(
    "transform",  # no group: every command would have to read entry points, for its flags
    {
        "temperature": "elman.decoding.transforms.temperature:TEMPERATURE",
        "softmax-sampling": "elman.decoding.transforms.softmax_sampling:SOFTMAX_SAMPLING",
        "top-k": "elman.decoding.transforms.top_k:TOP_K",
        "top-p": "elman.decoding.transforms.top_p:TOP_P",
        "min-p": "elman.decoding.transforms.min_p:MIN_P",
    },
)
