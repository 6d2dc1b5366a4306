"""Pointer outputs: mix a softmax over the vocabulary with a pointer to an earlier word.

`PointerSentinel` points at a recent word of the text, `Copying` at a word of the source.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import logsigmoid, pad

from elman.config import at_least
from elman.layers.outputs.output import Evidence, Output, SoftmaxOutput, Table
from elman.layers.softmax import softmax_scores
from elman.matrix_products import LinearLayer
from elman.state import State

_NOTHING = -1  # position not filled yet


class PointerSentinel(SoftmaxOutput):
    """Pointer-sentinel mixture: a softmax over the vocabulary and a pointer to recent words.

        q = tanh(Q h_t + b)
        a = softmax([q · h_i for the last L words; q · s])     s: the sentinel, learned
        p(w) = a_sentinel · softmax(W h_t + b)_w + Σ_{i: x_i = w} a_i

    (Merity et al. 2017.) The memory is the last L words and their hidden vectors. Training adds a
    loss of the pointer alone: -log(a_sentinel + Σ_{i: x_i = target} a_i).
    """

    about = "softmax mixed with a pointer to recent words; exact (Merity et al. 2017)"

    def __init__(
        self, size: int, counts: torch.Tensor, *, pointer_window: int = 100, **sizes: Any
    ) -> None:
        """`pointer_window`: the number of recent words that the pointer can choose."""
        super().__init__(size, counts, **sizes)
        at_least(pointer_window, 1, "pointer_window")
        self.pointer_window = pointer_window
        self.query = LinearLayer(self.size, self.size)
        self.sentinel = nn.Parameter(torch.empty(self.size).uniform_(-0.1, 0.1))

    def begin(self, batch_size: int) -> State:
        shape = batch_size, self.pointer_window
        words = torch.full(shape, _NOTHING, device=self.bias.device)
        return words, self.bias.new_zeros(*shape, self.size)

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        (hidden,), _ = super().gather(hidden, ids, memory)
        words, keys = cast("tuple[torch.Tensor, torch.Tensor]", memory)
        words, keys = torch.cat([words, ids], dim=1), torch.cat([keys, hidden], dim=1)
        queries = torch.tanh(self.query(hidden))
        products = torch.bmm(queries, keys.transpose(1, 2))  # (B, T, L + T)
        steps, window = ids.shape[1], self.pointer_window
        # Step t sees the L words up to its own: positions t + 1 … t + L.
        places = torch.arange(steps, device=ids.device)[:, None] + torch.arange(
            1, window + 1, device=ids.device
        )
        products = products.gather(2, places.expand(len(ids), -1, -1))
        pointed = words[:, places]  # (B, T, L)
        products = products.masked_fill(pointed == _NOTHING, -torch.inf)
        sentinel = (queries @ self.sentinel).unsqueeze(2)
        attention = torch.cat([products, sentinel], dim=2).log_softmax(2)
        return (hidden, attention, pointed), (words[:, steps:], keys[:, steps:])

    def attention(self, evidence: Evidence) -> torch.Tensor | None:
        return evidence[1].exp()

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if not self.training:
            return -self.score(evidence, targets, table).sum()
        pointed_at, sentinel = self._pointed_at(evidence, targets)
        by_itself = torch.logaddexp(pointed_at, sentinel).sum()
        return -self.score(evidence, targets, table).sum() - by_itself

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        softmax = softmax_scores(evidence[0], self.matrix(table), self.bias, targets)
        pointed_at, sentinel = self._pointed_at(evidence, targets)
        return torch.logaddexp(pointed_at, sentinel + softmax)

    def _pointed_at(
        self, evidence: Evidence, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log probability that the pointer is on the target, (N,), and that it is on the sentinel.

        If the target is not a recent word, the lowest finite number replaces -∞, which has no
        gradient.
        """
        _, attention, words = evidence
        lowest = torch.finfo(attention.dtype).min / 2
        here = attention[:, :-1].masked_fill(words != targets[:, None], lowest)
        return here.logsumexp(1), attention[:, -1]

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        hidden, attention, words = evidence
        mixed = super().log_probs((hidden,), table) + attention[:, -1:]
        pointers = torch.zeros_like(mixed)
        somewhere = words.clamp(min=0)  # unfilled positions have probability zero: any id will do
        pointers.scatter_add_(1, somewhere, attention[:, :-1].exp())
        return torch.logaddexp(mixed, pointers.log())

    def multiplications(self, step_tokens: int) -> float:
        inside = self.query.weight.numel() + self.pointer_window * self.size
        return super().multiplications(step_tokens) + inside


class Copying(SoftmaxOutput):
    """Pointer-generator: a softmax over the vocabulary and words of the source (See et al. 2017).

        g = σ(w · r + b)
        p(w) = g · softmax(W r + b)_w + (1 - g) · Σ_{j: x_j = w} α_j

    r is the readout of the decoder, α its attention, and x_j the id of source word j. The
    vocabulary has `further` extra ids: V + k is the k-th out-of-vocabulary word of a source. Called
    by the encoder–decoder, which adds attention and ids to the evidence.
    """

    about = "softmax mixed with copying from the source; exact (See et al. 2017)"

    def __init__(self, size: int, counts: torch.Tensor, *, further: int, **sizes: Any) -> None:
        """`further`: the number of extra ids for out-of-vocabulary words."""
        super().__init__(size, counts, **sizes)
        self.further = further
        self.gate = LinearLayer(self.size, 1)

    loss = Output.loss

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        hidden, weights, places = evidence
        own = targets < self.vocabulary_size
        inside = targets.where(own, 0)
        softmax = softmax_scores(hidden, self.matrix(table), self.bias, inside)
        gate = self.gate(hidden).squeeze(1)
        lowest = torch.finfo(hidden.dtype).min / 2  # replaces -∞, which has no gradient
        generated = (logsigmoid(gate) + softmax).where(own, lowest)
        pointed = weights.masked_fill(places != targets[:, None], 0).sum(1)
        copied = logsigmoid(-gate) + _log(pointed)
        return torch.logaddexp(generated, copied)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        hidden, weights, places = evidence
        gate = torch.sigmoid(self.gate(hidden))
        softmax = super().log_probs((hidden,), table).exp()
        mixed = pad(gate * softmax, (0, self.further))
        return _log(mixed.scatter_add(1, places, (1 - gate) * weights))

    def multiplications(self, step_tokens: int) -> float:
        return super().multiplications(step_tokens) + self.size


def _log(probabilities: torch.Tensor) -> torch.Tensor:
    """The logarithm, finite at zero."""
    return probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()
