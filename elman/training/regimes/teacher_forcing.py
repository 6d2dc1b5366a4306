"""Teacher forcing: the history is always the true text (Williams and Zipser 1989).

    L = -Σ_t log p(y_t | y_1 … y_(t-1))

The maximum-likelihood objective, one fused pass, and what all else is compared with.
"""

from __future__ import annotations

from typing import Any

from elman.batches import Batch
from elman.state import State
from elman.training.regimes.regime import Loss, Regime


class TeacherForcing(Regime):
    """The true text."""

    about = "the history is the true text (the default)"

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        return model.loss(batch, carried)
