"""Ids to tensors: what a training step sees.

Takes the ids of a text, gives `Batch`es; called by the training loop, which knows no more of the
data than this. `stream.py` cuts a text into columns and windows, `buckets.py` pads lines of like
length side by side, and pairs of a source and a target.
"""

from elman.batches.batch import Batch, Batches
from elman.batches.buckets import Lines, Pairs
from elman.batches.sources import Source
from elman.batches.stream import Stream

__all__ = ["Batch", "Batches", "Lines", "Pairs", "Source", "Stream"]
