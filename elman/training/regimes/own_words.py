"""Words that a model says itself inside a training window.

Takes a model and the inputs of a window, gives inputs in which some words are the model's own
draws. They are drawn first, word by word and without gradients, which could not flow through a draw
anyway; the loss is then one ordinary pass over the mixed inputs, with all its fused kernels.
Everything random comes from torch's global generator, which is part of a snapshot.

    true inputs     <eos> boys  who  Mary  chases
    own             –     –     own  –     own          drawn after what stands before it
    mixed inputs    <eos> boys  that Mary  sees
    targets         boys  who   Mary chases walk        those of the true text, always
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from elman.batches import Batch
from elman.state import State
from elman.training.regimes.regime import Loss, Reader, begun


def loss_on_own_words(
    model: Reader, batch: Batch, carried: State | None, own: torch.Tensor
) -> tuple[Loss, State]:
    """The loss of a batch that reads the model's draws where `own` (B, T) is true.

    A window of a stream hands on the state of having read the true text: its targets are of the
    true text, and a history that drifts from window to window would no longer have to do with them.
    """
    if not own[:, 1:].any():
        return model.loss(batch, carried)
    before = begun(model, batch, carried)
    mixed = replace(batch, inputs=own_words(model, batch.inputs, before, own))
    loss, after = model.loss(mixed, carried)
    if batch.lengths is None:
        with torch.no_grad():
            _, (_, after) = model.advance(batch.inputs, before)
    return loss, after


@torch.no_grad()
def own_words(
    model: Reader, inputs: torch.Tensor, carried: State, own: torch.Tensor
) -> torch.Tensor:
    """The inputs (B, T) with the model's draws where `own` (B, T) is true; the first one stays.

    Where lines stand by themselves and the model would end one too early, the true word stays: the
    row is one line to the loss as well.
    """
    mixed = inputs.clone()
    with evaluating(model):
        _, state = model.advance(inputs[:, :1], carried)
        for t in range(1, inputs.shape[1]):
            drawn = draw(model.predict(state))
            taken = own[:, t]
            if model.resets_at_lines:
                taken = taken & (drawn != model.eos_id)
            mixed[:, t] = torch.where(taken, drawn, inputs[:, t])
            state = model.read(mixed[:, t : t + 1], state)
    return mixed


def draw(log_probs: torch.Tensor) -> torch.Tensor:
    """One id for each row of (B, V).

    Where a model that has diverged gives no distribution, any id is drawn: the loss of the step
    then is not finite either, and it is the trainer that recovers, in all processes at once.
    """
    probabilities = log_probs.exp()
    sums = probabilities.sum(1, keepdim=True)
    sound = torch.isfinite(sums) & (sums > 0)
    if not sound.all():
        probabilities = torch.where(sound, probabilities, 1.0)
    return torch.multinomial(probabilities, 1).squeeze(1)


def toss(probability: float, like: torch.Tensor) -> torch.Tensor:
    """A coin for each place of a tensor; one that is certain is not tossed."""
    if 0 < probability < 1:
        return torch.rand(like.shape, device=like.device) < probability
    return torch.full_like(like, probability >= 1, dtype=torch.bool)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """The model as it will be used: nothing is dropped."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
