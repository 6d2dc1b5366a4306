"""From scores of tags to tags: each word by itself, or the sentence as a whole.

Called by the tagger, which knows no more of them than `output.py` says.
"""

from elman.registry import Registry

TAG_OUTPUTS = Registry(
    "tag output",
    {
        "softmax": "elman.layers.tag_outputs.softmax:TagSoftmax",
        "crf": "elman.layers.tag_outputs.crf:ConditionalField",
    },
    group="tag_outputs",
)
