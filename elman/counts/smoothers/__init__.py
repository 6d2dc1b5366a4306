"""Smoothers: what a count model gives to n-grams it has seen, and what it leaves for the others.

A smoother is a class in a file of its own and a line in `SMOOTHERS`; its options are the arguments
of that class. `smoother.py` says what one is, `discounts.py` is for those that take something off
each count. Called by `estimate.py`.

Formulas: Chen and Goodman (1999), "An empirical study of smoothing techniques for language
modeling"; Heafield et al. (2013) for Kneser-Ney as one pass over adjusted counts.
"""

from elman.registry import Registry

SMOOTHERS = Registry(
    "smoothing",
    {
        "maximum-likelihood": "elman.counts.smoothers.maximum_likelihood:MaximumLikelihood",
        "add-delta": "elman.counts.smoothers.add_delta:AddDelta",
        "witten-bell": "elman.counts.smoothers.witten_bell:WittenBell",
        "stupid-backoff": "elman.counts.smoothers.stupid_backoff:StupidBackoff",
        "katz": "elman.counts.smoothers.katz:Katz",
        "absolute": "elman.counts.smoothers.absolute:Absolute",
        "kneser-ney": "elman.counts.smoothers.kneser_ney:KneserNey",
        "modified-kneser-ney": "elman.counts.smoothers.modified_kneser_ney:ModifiedKneserNey",
    },
    group="smoothers",
)
