"""Tables of the tour that the terminal and the page show alike: a header, and rows of words.

Takes a `Tour`; called by `elman tour` and by `report.py`.
"""

from __future__ import annotations

from elman.experiments.tour.ladder import Tour

Lines = tuple[list[str], list[list[str]]]  # a header, and rows


def docs_table(seen: Tour) -> Lines:
    """The ladder on real English, in units that compare and in units that do not."""
    rows = [
        [
            result.rung,
            f"{result.measurement.perplexity:.2f}",
            result.measurement.protocol.unit,
            f"{result.measurement.bits_per_byte:.3f}",
            f"{result.seconds:.1f}",
        ]
        for result in seen.ladders["python-docs"]
    ]
    return ["model", "perplexity", "per", "bits per byte", "seconds"], rows


def surprisal_table(seen: Tour) -> Lines:
    """A sentence word by word, in bits: under the models that are shown, and in truth."""
    columns = zip(*seen.sentences.values(), seen.true_sentence, strict=True)
    rows = [
        [words[0].word, *(f"{word.surprisal:.2f}" for word in words), f"{truth:.2f}"]
        for *words, truth in columns
    ]
    return ["word", *seen.sentences, "the truth"], rows
