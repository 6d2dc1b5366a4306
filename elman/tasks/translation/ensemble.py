"""Several translators that decide together: their probabilities are averaged at every step.

Takes runs over the same vocabularies, gives one; called by the commands that translate. The mixture
itself is the adapter for language models (`adapters/mixture.py`), since a decoder is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from elman.adapters.mixture import Mixture
from elman.errors import InputError
from elman.tasks.translation.sides import Side
from elman.tasks.translation.trained import TrainedTranslator


def mix_translators(runs: Sequence[TrainedTranslator]) -> TrainedTranslator:
    """The mixture of runs, each with the same weight; one alone is itself."""
    first, *others = runs
    for other in others:
        for name in ("source", "target"):
            own, its = getattr(first.task, name), getattr(other.task, name)
            if not _alike(own, its):
                raise InputError(
                    f"{first.name} and {other.name} have different tokens of the {name}: only "
                    "runs over the same vocabularies can be mixed"
                )
    if not others:
        return first
    mixture = Mixture([run.model for run in runs], [1 / len(runs)] * len(runs))
    name = " + ".join(run.name for run in runs)
    return type(first)(first.task, mixture, first.facts, name)


def _alike(own: Side | None, its: Side | None) -> bool:
    if own is None or its is None:
        return own is its
    return own.tokenizer.to_data() == its.tokenizer.to_data()
