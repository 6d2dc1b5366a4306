"""Attentions, one per file: how well each place of a source suits a state of the decoder.

Called by the decoder, which knows no more of them than `attention.py` says.
"""

from elman.registry import Registry

ATTENTIONS = Registry(
    "attention",
    {
        "none": "elman.layers.attentions.nothing:NoAttention",
        "dot": "elman.layers.attentions.dot:DotAttention",
        "scaled-dot": "elman.layers.attentions.scaled_dot:ScaledDotAttention",
        "bilinear": "elman.layers.attentions.bilinear:BilinearAttention",
        "additive": "elman.layers.attentions.additive:AdditiveAttention",
        "location": "elman.layers.attentions.location:LocationAttention",
    },
    group="attentions",
)
