"""Compare models on one text, and test whether their differences could be chance.

Takes trained models and data, returns one row per model. Perplexities are compared only if their
protocols agree. Bits per byte always compare, because they describe the text itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.bootstrap import PairedBootstrap, paired_bootstrap
from elman.evaluation.measurement import Measurement
from elman.evaluation.measures import Reading
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.running_text import open_running_text

FEWEST_LINES = 10  # a bootstrap over fewer lines is meaningless


@dataclass(frozen=True)
class Comparison:
    """The row of one model; the first model is the baseline."""

    name: str
    measurement: Measurement
    perplexity_comparable: bool  # with the first model's
    against_first: PairedBootstrap | None

    def to_data(self) -> dict[str, Any]:
        against = vars(self.against_first) if self.against_first else None
        return {
            "run": self.name,
            **self.measurement.to_data(),
            "perplexity_comparable": self.perplexity_comparable,
            "against_first": against,
        }


def compare(
    models: Sequence[TrainedModel],
    data: str,
    *,
    split: str | None = None,
    reset: str = "stream",
    progress: Callable[[str], None] = lambda what: None,
) -> list[Comparison]:
    """Measure every model on the same text; the first is the baseline."""
    if not models:
        raise InputError("give at least one run to compare")
    reading = Reading(reset)
    plain = all(model.config.text.plain for model in models)
    corpus = open_running_text(str(data), plain=plain)
    # One text for all models: the test part of a single file if any model was trained on the file.
    chosen = [model.choose_split(corpus, split) for model in models]
    document = next((d for d in chosen if d is not corpus.whole), chosen[0])
    measured = []
    for model in models:
        progress(f"scoring {model.name}")
        measured.append(model.measure(document, reading))
    first = measured[0]
    rows = []
    for model, measurement in zip(models, measured, strict=True):
        against = None
        possible = not (measurement.impossible or first.impossible)
        if measurement is not first and possible and first.lines >= FEWEST_LINES:
            against = paired_bootstrap(*_same_lines(first.line_nats, measurement.line_nats))
        comparable = measurement.protocol.comparable(first.protocol)
        rows.append(Comparison(model.name, measurement, comparable, against))
    return rows


def _same_lines(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pad to the same number of lines: only some models count blanks after the last line end."""
    lines = max(len(first), len(second))
    return np.pad(first, (0, lines - len(first))), np.pad(second, (0, lines - len(second)))
