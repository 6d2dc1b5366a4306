"""Batches: from ids to the tensors of a training step.

Takes the ids of a text, gives `Batch`es; called by the training loop, which sees the data only in
this form. `stream.py` cuts a text into columns and windows; `buckets.py` pads lines, or pairs of a
source and a target, in batches of similar length.
"""

from elman.batches.batch import Batch, Batches
from elman.batches.buckets import Lines, Pairs
from elman.batches.sources import Source
from elman.batches.stream import Stream

__all__ = ["Batch", "Batches", "Lines", "Pairs", "Source", "Stream"]
