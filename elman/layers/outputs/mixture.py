"""Mixture of softmaxes: several distributions, weighed anew for each context (Yang et al. 2018).

    p(w) = Σ_k π_k softmax(W h_k + b)_w       π = softmax(P h),  h_k = tanh(L_k h + c_k)

One softmax of small vectors can only express distributions of a low rank; a mixture of them can
express any. Everything is done with logarithms of probabilities.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.layers.dropout import check_rate, locked_dropout
from elman.layers.outputs.output import Evidence, SoftmaxOutput, Table, at_least
from elman.layers.softmax import softmax_scores
from elman.state import State


class MixtureOfSoftmaxes(SoftmaxOutput):
    """Several softmaxes, weighed by the context."""

    about = "several softmaxes, weighed by the context; exact (Yang et al. 2018)"

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
        self.latent = nn.Linear(size, experts * self.size)
        self.prior = nn.Linear(size, experts, bias=False)

    def make_bridge(self, size: int) -> None:
        """None: the vectors h_k have the right size."""

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        latent = torch.tanh(self.latent(hidden))
        latent = locked_dropout(latent, self.dropout_latent, self.training)
        return (latent, self.prior(hidden).log_softmax(-1)), memory

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        return -self.score(evidence, targets, table).sum()

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
        for expert in range(self.experts):  # one after the other: (N, V) at a time, not (N, K, V)
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
