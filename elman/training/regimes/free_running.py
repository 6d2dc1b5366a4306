"""Free running: after the first word of a window the history is what the model says itself.

    L = -Σ_t log p(y_t | y_1 ŷ_2 … ŷ_(t-1)),   ŷ_t drawn from p(· | y_1 ŷ_2 … ŷ_(t-1))

The true word is asked for after a history that it did not follow, so the further into a window,
the less there is to learn from the history: the end of scheduled sampling, seen by itself.
"""

from __future__ import annotations

from typing import Any

from elman.batches import Batch
from elman.state import State
from elman.training.regimes.own_words import loss_on_own_words, toss
from elman.training.regimes.regime import Loss, Regime


class FreeRunning(Regime):
    """The model's own words."""

    about = "the history is the model's own words, but for the first of a window"

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        return loss_on_own_words(model, batch, carried, toss(1.0, batch.inputs))
