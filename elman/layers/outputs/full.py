"""The full softmax: every word, every time."""

from elman.layers.outputs.output import SoftmaxOutput


class FullSoftmax(SoftmaxOutput):
    """Every word, every time."""

    about = "all words, exact"
