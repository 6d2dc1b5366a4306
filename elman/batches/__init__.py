"""Ids to tensors: what a training step sees.

Takes the ids of a text, gives `Batch`es; called by the training loop, which knows no more of the
data than this. `stream.py` cuts a text into columns and windows, `lines.py` pads lines of like
length side by side, `pairs.py` does so with pairs of a source and a target.
"""

from elman.batches.batch import Batch, Batches
from elman.batches.lines import Lines
from elman.batches.pairs import Pairs
from elman.batches.sources import Source
from elman.batches.stream import Stream

__all__ = ["Batch", "Batches", "Lines", "Pairs", "Source", "Stream"]
