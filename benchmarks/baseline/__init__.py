"""Corpora and systems of `benchmarks/baselines.py`."""
