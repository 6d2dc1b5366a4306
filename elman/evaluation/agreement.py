"""Number agreement by distance: does a model know which noun a verb belongs to?

Takes a model and sentences of the built-in grammar, gives for every distance between noun and verb
how often the model finds verbs of the right number more likely than those of the wrong one.

    boys who Mary chases …     walk, walks?      the noun is three words away
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from elman.models.contract import LanguageModel
from elman.text.grammar import NUMBERS, agreement_points, verbs
from elman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class DistanceScore:
    """How a model does on the verbs at one distance from their nouns."""

    distance: int  # words between the two
    right: int
    verbs: int

    @property
    def accuracy(self) -> float:
        return self.right / self.verbs


def agreement_by_distance(
    model: LanguageModel, tokenizer: Tokenizer, sentences: Sequence[str], farthest: int = 10
) -> list[DistanceScore]:
    """Accuracy by distance; `farthest` stands for all distances from there on."""
    forms = {number: tokenizer.encode(" ".join(sorted(verbs(number)))) for number in NUMBERS}
    right: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for sentence in sentences:
        points = agreement_points(sentence.split())
        log_probs = _distributions(model, tokenizer.encode(sentence))
        for point in points:
            mass = {
                number: float(np.logaddexp.reduce(log_probs[point.verb, ids]))
                for number, ids in forms.items()
            }
            wrong = next(number for number in NUMBERS if number != point.number)
            distance = min(point.distance, farthest)
            total[distance] += 1
            right[distance] += mass[point.number] > mass[wrong]
    return [DistanceScore(d, right[d], total[d]) for d in sorted(total)]


def _distributions(model: LanguageModel, ids: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        log_probs, _ = model.predict_all(torch.from_numpy(ids)[None], model.start(1))
    return log_probs[0].double().numpy()
