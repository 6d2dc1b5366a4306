"""The influence of earlier words on a prediction: by gradient × input, or by leaving words out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from elman.insight.insight import (
    Drawing,
    Insight,
    Subject,
    in_parts,
    inputs_of,
    losses,
    numbers,
    parts_of_rows,
)
from elman.insight.recording import twin_of


@dataclass(frozen=True)
class Influence(Insight):
    """In nats; row i: a token that was read, column t: a token that was predicted.

        influence[i][t] = x_i · ∂log p(x_{t+1} | …)/∂x_i          x_i: the word vector that was read

    To first order this is how much log p would fall if the word vector were set to zero. A positive
    value supports the predicted word. Cheap and signed, but only a first-order estimate;
    `LeaveOneOut` measures the influence.
    """

    about: ClassVar[str] = "the influence of earlier words on each prediction, by gradient × input"
    method: ClassVar[str] = "gradient × input"
    how: ClassVar[str] = "gradient × input"  # in the title
    by: ClassVar[str] = "gradient × input"  # in a sentence

    read: list[str]
    predicted: list[str]
    values: np.ndarray  # (T, T); zero where i > t

    @classmethod
    def look(cls, subject: Subject) -> Influence:
        twin = twin_of(subject.model)
        seen: list[torch.Tensor] = []

        def probe(module: Any, given: Any, vectors: torch.Tensor) -> torch.Tensor:
            seen.append(vectors.detach().requires_grad_())
            return seen[-1]

        twin.input.register_forward_hook(probe)
        parts = []
        for rows in parts_of_rows(subject):
            seen.clear()
            with torch.enable_grad():
                losses(twin, inputs_of(subject), torch.from_numpy(subject.ids), rows).backward()  # type: ignore[no-untyped-call]
            products = [-(_gradient(part) * part.detach()).double().sum(2) for part in seen]
            # A window model reads its carried words again before the new ones.
            again = (sum(part.shape[1] for part in seen) - len(subject.ids)) // len(seen)
            parts.append(torch.cat([part[:, again:] for part in products], dim=1).t())  # (T, rows)
        return cls(subject.read, subject.tokens, torch.cat(parts, dim=1).numpy(force=True))

    def strongest(self, place: int, top: int = 5) -> list[tuple[int, float]]:
        """Positions and values of the tokens with the most influence on one prediction."""
        column = self.values[: place + 1, place]
        best = np.argsort(-np.abs(column), kind="stable")[:top]
        return [(int(number), float(column[number])) for number in best]

    def to_data(self) -> dict[str, Any]:
        return {"method": self.method, **vars(self), "values": numbers(above(self.values))}

    def drawings(self) -> list[Drawing]:
        """A heat map: words read by words predicted."""
        heat_map = {
            "title": f"Influence of each word on each later one: {self.how}, in nats",
            "rows": self.read,
            "columns": self.predicted,
            "values": numbers(above(self.values)),
            "scale": "diverging",
            "rowLabel": "word read",
            "columnLabel": "word predicted",
            "between": "for",
        }
        return [Drawing("heatMap", heat_map)]

    def summary(self) -> list[str]:
        """The words with the most influence on the last prediction."""
        place = len(self.predicted) - 1
        words = ", ".join(
            f"{self.read[number]!r} ({value:+.2f})" for number, value in self.strongest(place, 3)
        )
        return [f"By {self.by}, {self.predicted[place]!r} at the end depended most on {words}."]


def above(values: np.ndarray) -> np.ndarray:
    """Remove impossible pairs: a word has no influence on an earlier one."""
    return np.where(np.triu(np.ones_like(values)) > 0, values, np.nan)


def _gradient(vectors: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(vectors) if vectors.grad is None else vectors.grad


_AT_ONCE = 20_000_000  # probabilities of one batch


@dataclass(frozen=True)
class LeaveOneOut(Influence):
    """In nats; row i: the token that was left out, column t: a token that was predicted.

    The influence of earlier words on a prediction, by leaving each of them out.

        influence[i][t] = log p(x_{t+1} | all before) − log p(x_{t+1} | all before but x_i)

    Measured, not estimated, and for any language model; it costs one pass over the text per word.
    The word is removed from the text, so later words move up by one.
    """

    about: ClassVar[str] = "the influence of earlier words on each prediction, by leaving them out"
    method: ClassVar[str] = "leave-one-out"
    how: ClassVar[str] = "leaving it out"
    by: ClassVar[str] = "leaving words out"

    @classmethod
    @torch.inference_mode()
    def look(cls, subject: Subject) -> LeaveOneOut:
        model, ids = subject.model, torch.from_numpy(subject.ids)
        time = len(ids)
        whole = model.score(ids[None], model.start(1))[0][0].double()  # (T,)
        values = np.zeros((time, time))
        places = torch.arange(time)
        rows = max(1, _AT_ONCE // (time * subject.model.vocabulary_size))
        for some in in_parts(torch.arange(time - 1), rows):  # the last token has no influence
            shorter = torch.stack([ids[places != place] for place in some])
            scores = model.score(shorter, model.start(len(some)))[0].double()  # (rows, T - 1)
            for place, own in zip(some.tolist(), scores, strict=True):
                # Read as the token after the start is number 1; it was read before all later ones.
                values[place + 1, place + 1 :] = (whole[place + 1 :] - own[place:]).numpy()
        return cls(subject.read, subject.tokens, values)
