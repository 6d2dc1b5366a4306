"""The full softmax: every word, every time.

With label smoothing ε (Szegedy et al. 2016) a step of training learns from

    -(1 - ε) log p(target) - ε Σ_w log p(w) / V

so that no word is ever held to be impossible; evaluation is as ever.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.errors import InputError
from elman.layers.outputs.output import SoftmaxOutput, at_least
from elman.layers.softmax import Gradients, chunks, softmax_loss


class FullSoftmax(SoftmaxOutput):
    """Every word, every time."""

    about = "all words, exact"

    def __init__(
        self, size: int, counts: torch.Tensor, *, smoothing: float = 0.0, **sizes: Any
    ) -> None:
        """`smoothing`: so much of what is learned is every word alike, and not the target."""
        super().__init__(size, counts, **sizes)
        if not 0 <= smoothing < 1:
            raise InputError(f"smoothing={smoothing}: must be from 0 to below 1")
        self.smoothing = smoothing

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        return softmax_loss(hidden, matrix, self.bias, targets, smoothing=self.smoothing)


class AugmentedSoftmax(SoftmaxOutput):
    """The augmented loss: words like the target are half right too (Inan et al. 2017).

        ỹ = softmax(E · e_target / τ)                     words whose vectors are like the target's
        loss = -log p(target) + γ τ KL(ỹ ‖ softmax(logits / τ))

    E are the word vectors that the output is tied to. They are looked at here, not taught: the
    gradient goes through the logits alone. In evaluation it is the plain softmax.
    """

    about = (
        "all words, exact, and in training a reward for words like the target (Inan et al. 2017)"
    )

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        gamma: float = 0.5,
        temperature: float = 10.0,
        **sizes: Any,
    ) -> None:
        """`gamma`: how much the second loss counts; `temperature` τ: how even its targets are."""
        super().__init__(size, counts, **sizes)
        at_least(gamma, 0, "gamma")
        at_least(temperature, 1e-6, "temperature")
        self.gamma, self.temperature = gamma, temperature

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        nats = softmax_loss(hidden, matrix, self.bias, targets)
        like = _like_words(hidden, matrix, self.bias, targets, self.temperature)
        return nats + self.gamma * like

    def multiplications(self, step_tokens: int) -> float:
        return 2 * super().multiplications(step_tokens)


def _like_words(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    targets: torch.Tensor,
    temperature: float,
) -> torch.Tensor:
    """Sum over rows of τ KL(ỹ ‖ softmax(logits / τ))."""
    gradients = Gradients.wanted(hidden, weight, bias)
    total = hidden.new_zeros((), dtype=torch.float64)
    with torch.no_grad():
        for rows in chunks(len(hidden), len(weight), hidden):
            vectors = weight.index_select(0, targets[rows])
            wanted = (vectors @ weight.t()).div_(temperature).log_softmax(1)
            found = torch.addmm(bias, hidden[rows], weight.t()).div_(temperature).log_softmax(1)
            goal = wanted.exp()
            total += temperature * (goal * (wanted - found)).sum(dtype=torch.float64)
            if gradients is not None:
                gradients.add(rows, found.exp_().sub_(goal))
    loss = total.to(hidden.dtype)
    return loss if gradients is None else gradients.of(loss)
