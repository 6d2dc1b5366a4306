"""Count models: n-gram counting, smoothing, back-off tables. numpy only.

Takes ids, gives probabilities; called by the n-gram model.
"""
