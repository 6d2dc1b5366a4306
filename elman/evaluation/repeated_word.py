"""How likely a model finds a word that it has read once before, by how far back that was.

    When she tried to print her tickets, … she finally printed her tickets
                                 └────────── distance in tokens ─────┘

Takes a model and texts whose last token stands in them once before, gives the mean probability of
that token for every distance. Called by `experiments/cells.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch

from elman.errors import InputError
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
            raise InputError(f"the last word does not occur before: {text[:60]!r}")
        rows.setdefault(int(len(ids) - 1 - places[0]), []).append(ids)
    return {distance: torch.from_numpy(np.stack(rows[distance])) for distance in sorted(rows)}


@torch.no_grad()
def probability_by_distance(
    model: LanguageModel, rows: Mapping[int, torch.Tensor]
) -> dict[int, float]:
    """The mean probability of the last token of the rows, for every distance."""
    found = {}
    for distance, ids in rows.items():
        log_probs, _ = model.score(ids, model.start(len(ids)))
        found[distance] = float(log_probs[:, -1].exp().mean())
    return found
