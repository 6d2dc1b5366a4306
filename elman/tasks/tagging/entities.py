"""How well entities were found: a span counts when its kind and both of its ends are right.

Takes the right tags and the guessed ones, sentence by sentence, gives `EntityMeasures`; called by
the tasks. As the CoNLL script counts, and seqeval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from elman.evaluation.measures import Score, make_score
from elman.text.tag_schemes import find_entities


@dataclass(frozen=True)
class EntityMeasures:
    """Precision, recall and F1 over all entities, and of each kind."""

    all: Score
    kinds: dict[str, Score]

    def to_data(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self.all), "kinds": {kind: vars(s) for kind, s in self.kinds.items()}}


def measure_entities(
    right: Iterable[Sequence[str]], guessed: Iterable[Sequence[str]]
) -> EntityMeasures:
    """Measures over whole sentences."""
    hits: Counter[str] = Counter()
    in_truth: Counter[str] = Counter()
    in_guesses: Counter[str] = Counter()
    for tags, guesses in zip(right, guessed, strict=True):
        true, found = set(find_entities(tags)), set(find_entities(guesses))
        in_truth.update(entity.kind for entity in true)
        in_guesses.update(entity.kind for entity in found)
        hits.update(entity.kind for entity in true & found)
    kinds = {
        kind: make_score(hits[kind], in_truth[kind], in_guesses[kind])
        for kind in sorted({*in_truth, *in_guesses})
    }
    everything = make_score(hits.total(), in_truth.total(), in_guesses.total())
    return EntityMeasures(everything, kinds)
