"""Counting: n-grams, their smoothing, back-off tables, ARPA files. numpy only.

Takes ids, gives probabilities; called by the n-gram model.
"""
