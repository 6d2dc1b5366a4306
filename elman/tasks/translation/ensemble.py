"""Several translators that decide together: their probabilities are averaged at every step.

Takes runs over the same vocabularies, gives one; called by the commands that translate. The mixture
itself is the adapter for language models (`adapters/mixture.py`), since a decoder is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elman.adapters.mixture import Mixture
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.tasks.translation.sides import Side
    from elman.tasks.translation.trained import TrainedTranslator


def mix_translators(trained: TrainedTranslator, others: Sequence[TrainedTranslator]) -> None:
    """Let the first be the mixture of all, each with the same weight."""
    for other in others:
        for name in ("source", "target"):
            own, its = getattr(trained.task, name), getattr(other.task, name)
            if not _alike(own, its):
                raise InputError(
                    f"{trained.name} and {other.name} have different tokens of the {name}: only "
                    "runs over the same vocabularies can be mixed"
                )
    if others:
        models = [each.model for each in (trained, *others)]
        trained.model = Mixture(models, [1 / len(models)] * len(models))
        trained.name = " + ".join(each.name for each in (trained, *others))


def _alike(own: Side | None, its: Side | None) -> bool:
    if own is None or its is None:
        return own is its
    return own.tokenizer.to_data() == its.tokenizer.to_data()
