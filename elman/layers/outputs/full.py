"""Outputs over the full vocabulary: a softmax, an augmented softmax, and a mixture of softmaxes."""

from __future__ import annotations

from typing import Any

import torch

from elman.config import at_least
from elman.errors import InputError
from elman.layers.dropout import check_rate, locked_dropout
from elman.layers.outputs.output import Evidence, Output, SoftmaxOutput, Table
from elman.layers.softmax import Gradients, chunks, softmax_loss, softmax_scores
from elman.matrix_products import LinearLayer, add_product, multiply
from elman.state import State


class FullSoftmax(SoftmaxOutput):
    """The full softmax over all words.

    With label smoothing ε (Szegedy et al. 2016) the training loss is

        -(1 - ε) log p(target) - ε Σ_w log p(w) / V

    so no word becomes impossible. Evaluation does not change.
    """

    about = "softmax over all words; exact"

    def __init__(
        self, size: int, counts: torch.Tensor, *, smoothing: float = 0.0, **sizes: Any
    ) -> None:
        """`smoothing`: the share of the target distribution that is uniform over all words."""
        super().__init__(size, counts, **sizes)
        if not 0 <= smoothing < 1:
            raise InputError(f"smoothing={smoothing}: must be from 0 to below 1")
        self.smoothing = smoothing

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        return softmax_loss(hidden, matrix, self.bias, targets, smoothing=self.smoothing)


class AugmentedSoftmax(SoftmaxOutput):
    """The augmented loss: words similar to the target are partly right (Inan et al. 2017).

        ỹ = softmax(E · e_target / τ)                     words whose vectors are like the target's
        loss = -log p(target) + γ τ KL(ỹ ‖ softmax(logits / τ))

    E are the tied word vectors. ỹ has no gradient: it flows only through the logits. Evaluation
    uses the plain softmax.
    """

    about = "softmax; training also rewards words similar to the target; exact (Inan et al. 2017)"

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        gamma: float = 0.5,
        temperature: float = 10.0,
        **sizes: Any,
    ) -> None:
        """`gamma`: the weight of the second loss; `temperature` τ: how flat its targets are."""
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
            wanted = multiply(vectors, weight.t()).div_(temperature).log_softmax(1)
            found = add_product(bias, hidden[rows], weight.t()).div_(temperature).log_softmax(1)
            goal = wanted.exp()
            total += temperature * (goal * (wanted - found)).sum(dtype=torch.float64)
            if gradients is not None:
                gradients.add(rows, found.exp_().sub_(goal))
    loss = total.to(hidden.dtype)
    return loss if gradients is None else gradients.of(loss)


class MixtureOfSoftmaxes(SoftmaxOutput):
    """A mixture of softmaxes with weights for each context (Yang et al. 2018).

        p(w) = Σ_k π_k softmax(W h_k + b)_w       π = softmax(P h),  h_k = tanh(L_k h + c_k)

    One softmax of small vectors has a low rank; a mixture of softmaxes can have a high rank. All
    computations use log probabilities.
    """

    about = "mixture of softmaxes weighted by the context; exact (Yang et al. 2018)"

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        experts: int = 15,
        dropout_latent: float = 0.0,
        **sizes: Any,
    ) -> None:
        """`experts` softmaxes; `dropout_latent` of the vectors h_k."""
        super().__init__(size, counts, **sizes)
        at_least(experts, 1, "experts")
        check_rate(dropout_latent, "dropout_latent")
        self.experts = experts
        self.dropout_latent = dropout_latent
        self.latent = LinearLayer(size, experts * self.size)
        self.prior = LinearLayer(size, experts, bias=False)

    def make_bridge(self, size: int) -> None:
        """None: the vectors h_k already have the right size."""

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        latent = torch.tanh(self.latent(hidden))
        latent = locked_dropout(latent, self.dropout_latent, self.training)
        return (latent, self.prior(hidden).log_softmax(-1)), memory

    loss = Output.loss

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        latent, log_prior = evidence
        each = softmax_scores(
            latent.reshape(-1, self.size),
            self.matrix(table),
            self.bias,
            targets.repeat_interleave(self.experts),
        )
        return (each.view_as(log_prior) + log_prior).logsumexp(1)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        latent, log_prior = evidence
        mixed: torch.Tensor | None = None
        for expert in range(self.experts):  # one at a time: (N, V) instead of (N, K, V)
            vectors = latent[:, expert * self.size : (expert + 1) * self.size]
            one = super().log_probs((vectors,), table) + log_prior[:, expert, None]
            mixed = one if mixed is None else torch.logaddexp(mixed, one)
        assert mixed is not None, "there is at least one expert"
        return mixed

    def multiplications(self, step_tokens: int) -> float:
        inside = self.latent.weight.numel() + self.prior.weight.numel()
        return self.experts * self.vocabulary_size * self.size + inside

    def all_multiplications(self) -> float:
        return self.multiplications(0)
