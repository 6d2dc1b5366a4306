"""Memory tests: the probability of a word read long before, by distance and epoch.

Filled by `experiments/cells.py` during training on `tickets`, drawn next to the gradients of
`elman inspect`. A network that has forgotten the word is right by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from elman.errors import InputError
from elman.insight.insight import Drawing
from elman.models.contract import LanguageModel
from elman.text.tokenizer import Tokenizer


def rows_by_distance(tokenizer: Tokenizer, texts: Iterable[str]) -> dict[int, torch.Tensor]:
    """The ids of texts (rows, length) by the distance between the last token and its first place.

    Texts of one distance must have one length.
    """
    rows: dict[int, list[np.ndarray]] = {}
    for text in texts:
        ids = tokenizer.spans(text).ids
        places = np.flatnonzero(ids == ids[-1:])
        if len(places) < 2:
            raise InputError(f"the last word must occur earlier in the text: {text[:60]!r}")
        rows.setdefault(int(len(ids) - 1 - places[0]), []).append(ids)
    return {distance: torch.from_numpy(np.stack(rows[distance])) for distance in sorted(rows)}


@torch.no_grad()
def probability_by_distance(
    model: LanguageModel, rows: Mapping[int, torch.Tensor]
) -> dict[int, float]:
    """The mean probability of the last token of the rows, for every distance.

    When she tried to print her tickets, … she finally printed her tickets
                                 └────────── distance in tokens ─────┘
    """
    found = {}
    for distance, ids in rows.items():
        log_probs, _ = model.score(ids, model.start(len(ids)))
        found[distance] = float(log_probs[:, -1].exp().mean())
    return found


SOLVED = 0.95  # the probability that counts as knowing the word
_LABEL = "P(right last word)"


@dataclass
class Remembering:
    """The probability of the right last word, by distance, after every epoch of one network."""

    choices: int  # number of possible last words
    epochs: list[int] = field(default_factory=list)
    probabilities: list[dict[int, float]] = field(default_factory=list)  # by distance

    @property
    def chance(self) -> float:
        """The probability for a network that has forgotten the word."""
        return 1 / self.choices

    @property
    def solved(self) -> bool:
        """Whether the word is known at every distance."""
        return bool(self.probabilities) and min(self.probabilities[-1].values()) >= SOLVED

    def curve(self, distance: int) -> tuple[list[int], list[float]]:
        """Epochs, and the probability at one distance after each."""
        return self.epochs, [row[distance] for row in self.probabilities]

    def to_data(self) -> dict[str, Any]:
        """Plain data; a row of probabilities per epoch, a column per distance."""
        return {
            "chance": self.chance,
            "epochs": self.epochs,
            "distances": [*self.probabilities[-1]],
            "probabilities": [[*each.values()] for each in self.probabilities],
        }

    def summary(self) -> str:
        """One sentence."""
        last = self.probabilities[-1].items()
        known = ", ".join(f"{probability:.2f} at {distance}" for distance, probability in last)
        return (
            f"after {self.epochs[-1]} epochs, the right last word has the probability {known} "
            f"tokens (chance {self.chance:.3f})."
        )


def draw_remembering(found: Mapping[str, Remembering]) -> Drawing:
    """One panel per network by epoch, and one that compares the trained networks by distance."""
    longest = max(one.epochs[-1] for one in found.values())
    panels = [
        _panel(
            one,
            f"{name}, by epoch",
            "epoch",
            {f"{distance} tokens back": one.curve(distance) for distance in one.probabilities[-1]},
        )
        | {"ends": [0, longest]}  # the same for all, to be compared
        for name, one in found.items()
    ]
    ends = {
        name: ([*one.probabilities[-1]], [*one.probabilities[-1].values()])
        for name, one in found.items()
    }
    any_one = next(iter(found.values()))
    panels.append(_panel(any_one, "After the last epoch, by distance", "distance in tokens", ends))
    title = "Who remembers the tickets? Probability of the right last word, stories not trained on"
    return Drawing("panels", {"title": title, "panels": panels})


def _panel(
    one: Remembering, title: str, x_label: str, series: Mapping[str, tuple[list[int], list[float]]]
) -> dict[str, Any]:
    return {
        "title": title,
        "xLabel": x_label,
        "yLabel": _LABEL,
        "zero": True,
        "top": 1.0,
        "levels": [{"y": one.chance, "name": f"chance: 1 of {one.choices}"}],
        "series": [{"name": name, "x": x, "y": y} for name, (x, y) in series.items()],
    }
