"""How large the gradient of each weight usually is, over training text (Krause et al. 2018).

Takes a model and the training ids, gives the root mean square of the gradients, a number for each
weight. Called by dynamic evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from elman.batches.batch import Batch
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.adapters.flat_weights import Worker

_COLUMNS = 100  # as in the authors' code


def root_mean_square(
    worker: Worker,
    ids: np.ndarray,
    steps: int,
    batches: int,
    progress: Callable[[int, int], None] = lambda tokens, of: None,
) -> torch.Tensor:
    """Over at most so many batches of 100 segments of so many steps, the state carried on."""
    columns = min(_COLUMNS, len(ids) // (steps + 1))
    if columns < 1:
        raise InputError("dynamic: the training text is too short to take gradients from")
    per_column = len(ids) // columns
    text = torch.from_numpy(ids[: columns * per_column]).view(columns, -1)
    batches = min(batches, (per_column - 1) // steps)
    squares = torch.zeros_like(worker.weights)
    places = worker.cut(squares)
    state = None
    with torch.inference_mode(False):
        for begin in range(0, batches * steps, steps):
            seen = text[:, begin : begin + steps + 1]
            loss, state = worker.model.loss(Batch(seen[:, :-1], seen[:, 1:]), state)
            gradients = worker.gradients(loss.nats / loss.tokens)
            for place, gradient in zip(places, gradients, strict=True):
                place.addcmul_(gradient, gradient)
            progress(columns * steps, columns * steps * batches)
    return (squares / batches).sqrt()
