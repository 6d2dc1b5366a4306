"""Drift: how much worse a model foretells a text when it reads its own words in its place.

    read_t = own draw with probability `own`, else the word of the text
    drift  = mean of -log q(text_t | read_1 … read_(t-1))  -  the same with own = 0        nats

This is what scheduled sampling trains for, on any text, with no need to know the truth. Unlike the
bias of `exposure.py` it counts as a loss what may be no fault: after a word of its own, the text's
next word can be a wrong one. Called by the comparison of regimes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from elman.models.contract import LanguageModel


@dataclass(frozen=True)
class Drift:
    """Nats per word of a text, and one standard error over its rows."""

    nats_true: float  # reading the text
    nats_mixed: float  # reading own words in part
    drift: float  # the difference
    drift_error: float


@torch.no_grad()
def measure_drift(
    model: LanguageModel, rows: np.ndarray, *, own: float = 0.5, seed: int = 0
) -> Drift:
    """Read rows of ids (B, T), each from nothing, with and without own words among them."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.from_numpy(rows)
    true, _ = model.score(ids, model.start(len(ids)))
    state, mixed = model.start(len(ids)), []
    for step in range(ids.shape[1]):
        log_probs = model.predict(state).cpu()
        mixed.append(log_probs.gather(1, ids[:, step, None]))
        drawn = torch.multinomial(log_probs.exp(), 1, generator=generator)
        coin = torch.rand(len(ids), 1, generator=generator) < own
        state = model.read(torch.where(coin, drawn, ids[:, step, None]), state)
    lost = true.cpu() - torch.cat(mixed, dim=1)
    by_row = lost.double().mean(1)
    return Drift(
        nats_true=float(-true.mean()),
        nats_mixed=float(-torch.cat(mixed, dim=1).mean()),
        drift=float(by_row.mean()),
        drift_error=float(by_row.std() / len(by_row) ** 0.5),
    )
