"""Which earlier words a prediction depended on, by leaving each of them out.

    influence[i][t] = log p(x_{t+1} | all before) − log p(x_{t+1} | all before but x_i)

Measured, not estimated, and for any model that keeps the contract; one more reading of the text per
word. The word is taken out of the text, so later ones move up by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.insight.influence import Influence, influence_map, influence_sentence
from elman.insight.insight import Drawing, Subject
from elman.insight.rows import in_parts

_AT_ONCE = 20_000_000  # probabilities of one batch


@dataclass(frozen=True)
class LeaveOneOut(Influence):
    """In nats; row i: the token that was left out, column t: a token that was predicted."""

    about: ClassVar[str] = "which earlier words each prediction depended on, by leaving them out"

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> LeaveOneOut:
        model, ids = subject.model, torch.from_numpy(subject.ids)
        time = len(ids)
        whole = model.score(ids[None], model.start(1))[0][0].double()  # (T,)
        values = np.zeros((time, time))
        places = torch.arange(time)
        rows = max(1, _AT_ONCE // (time * subject.model.vocabulary_size))
        for some in in_parts(torch.arange(time - 1), rows):  # what is read last changes nothing
            shorter = torch.stack([ids[places != place] for place in some])
            scores = model.score(shorter, model.start(len(some)))[0].double()  # (rows, T - 1)
            for place, own in zip(some.tolist(), scores, strict=True):
                # Read as the token after the start is number 1; it was read before all later ones.
                values[place + 1, place + 1 :] = (whole[place + 1 :] - own[place:]).numpy()
        return cls(subject.read, subject.tokens, values)

    def to_data(self) -> dict[str, Any]:
        return {**super().to_data(), "method": "leave-one-out"}

    def drawings(self) -> list[Drawing]:
        title = "Influence of each word on each later one: leaving it out"
        return [influence_map(self, title)]

    def summary(self) -> list[str]:
        return [influence_sentence(self, "leaving words out")]
