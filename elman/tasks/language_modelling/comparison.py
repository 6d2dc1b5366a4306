"""Score language models on one text, for a comparison.

Takes trained models and data, returns one scored run per model (`tasks/comparison.py` compares
them). Perplexities are compared only if their protocols agree. Bits per byte compare if both
models account for the whole text, and so do the nats of each line, which the bootstrap draws from.
A model that reads words as `<unk>` is never called better than one with another vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.evaluation.bootstrap import FEWEST, Measure, PairedBootstrap, total_of
from elman.evaluation.measurement import Measurement
from elman.evaluation.measures import SEEN, Reading
from elman.tasks.comparison import ComparedRun, ScoredRun, Value
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.running_text import open_running_text

FEWEST_LINES = FEWEST
NATS = "nats"


@dataclass(frozen=True)
class ComparedModel(ComparedRun):
    """The row of one language model."""

    measurement: Measurement
    perplexity_comparable: bool  # with the first model's

    def to_data(self) -> dict[str, Any]:
        return {
            **super().to_data(),
            **self.measurement.to_data(),
            "perplexity_comparable": self.perplexity_comparable,
        }

    def cells(self) -> dict[str, Any]:
        measured = self.measurement
        cells: dict[str, Any] = {"perplexity": measured.perplexity}
        cells["bits/byte"] = measured.bits_per_byte
        if measured.unknown:
            cells["out-of-vocabulary"] = f"{measured.unknown_share:.1%}"
        return cells


@dataclass(frozen=True)
class ScoredModel(ScoredRun):
    """A language model on the text of a comparison."""

    measurement: Measurement | None = None
    perplexity_comparable: bool = True

    def row(self, values: dict[str, Value], against_first: PairedBootstrap | None) -> ComparedModel:
        assert self.measurement is not None
        return ComparedModel(
            self.name, values, against_first, self.measurement, self.perplexity_comparable
        )

    def advantage_over(self, other: Any) -> str:
        """A model that reads words as <unk> does not pay for their spelling."""
        assert self.measurement is not None
        own = self.measurement
        if not own.unknown or own.protocol.comparable(other.measurement.protocol):
            return ""
        return (
            f"{self.name} is not called better than {other.name}: it reads "
            f"{own.unknown_share:.1%} of its tokens as <unk> and never has to spell them"
        )


def score_models(
    models: Sequence[TrainedModel],
    data: str,
    *,
    split: str | None = None,
    reset: str = "stream",
    progress: Callable[[str], None] = lambda what: None,
) -> list[ScoredRun]:
    """Measure every model on the same text; the first is the baseline."""
    reading = Reading(reset)
    plain = all(model.config.text.plain for model in models)
    corpus = open_running_text(data, plain=plain)
    # One text for all models: the test part of a single file if any model was trained on the file.
    chosen = [model.choose_split(corpus, split) for model in models]
    document = next((d for d in chosen if d is not corpus.whole), chosen[0])
    measured = []
    for model in models:
        progress(f"scoring {model.name}")
        measured.append(model.measure(document, reading))
    # Only some models count blanks after the last line end.
    lines = max(len(measurement.line_nats) for measurement in measured)
    found: list[ScoredRun] = []
    for model, measurement in zip(models, measured, strict=True):
        nats = np.pad(measurement.line_nats, (0, lines - len(measurement.line_nats)))
        finite = not measurement.impossible
        measures = [Measure(NATS, total_of(nats), higher_is_better=False)] if finite else []
        comparable = measurement.protocol.comparable(measured[0].protocol)
        notes = [f"{model.name}: {SEEN}"] if model.trained_on(document) else []
        found.append(
            ScoredModel(model.name, lines, "lines", measures, notes, measurement, comparable)
        )
    return found
