"""A maximum-entropy n-gram model inside the softmax, learned jointly (Mikolov et al. 2011).

    logit(w) = W_w · h + b_w + Σ_n D[(hash of the last n words + w) mod size]

Every n-gram has a weight in the table D; some share one because of hash collisions. The words after
a history are neighbours in D, so adding them to the logits copies one block of memory. D memorises
frequent n-grams, and the network can learn the rest. In training, words are sampled as in
`sampled.py`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from elman.errors import InputError
from elman.layers.outputs.output import Evidence, Table
from elman.layers.outputs.sampled import RecentWords, adjusted
from elman.layers.softmax import chunks
from elman.matrix_products import add_product
from elman.state import State

_FACTOR = 6364136223846793005  # of a congruential generator (Knuth); products wrap around


class JointMaxent(RecentWords):
    """N-gram features added to the hidden vector."""

    about = "sampled softmax with hashed n-gram features (Mikolov et al. 2011)"

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        order: int = 3,
        features: int = 4_000_000,
        **options: Any,
    ) -> None:
        """`order`: the longest n-grams; `features`: the size of the table."""
        super().__init__(size, counts, order=order, **options)
        if features < self.vocabulary_size:
            raise InputError(
                f"features={features}: must be at least {self.vocabulary_size}, the vocabulary size"
            )
        self.features = nn.Parameter(torch.zeros(features))

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        (hidden, recent), memory = super().gather(hidden, ids, memory)
        places = []
        hashed = torch.zeros_like(ids)
        for back in range(1, self.order):  # the last word, the word before it …
            hashed = (hashed + recent[..., -back] + 2) * _FACTOR
            # The lowest bits of these products are not random enough.
            places.append((hashed >> 17).remainder(len(self.features) - self.vocabulary_size + 1))
        return (hidden, torch.stack(places, dim=-1)), memory

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if not self.training:
            return -self.score(evidence, targets, table).sum()
        (hidden, places), matrix = evidence, self.matrix(table)
        words, right, adjust = self.draw(targets)
        logits = add_product(self.bias[words], hidden, matrix.index_select(0, words).t())
        for order in range(self.order - 1):
            chosen = (places[:, order, None] + words).flatten()
            logits = logits + self.features.index_select(0, chosen).view_as(logits)
        logits, _ = adjusted(logits, right, adjust)
        return cross_entropy(logits, right, reduction="sum")

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        hidden, _ = evidence
        parts = []
        for rows in chunks(len(hidden), self.vocabulary_size, hidden):
            logits = self._logits((hidden[rows], evidence[1][rows]), table)
            chosen = logits.gather(1, targets[rows, None]).squeeze(1)
            parts.append(chosen - logits.logsumexp(1))
        return torch.cat(parts)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        return self._logits(evidence, table).log_softmax(1)

    def _logits(self, evidence: Evidence, table: Table) -> torch.Tensor:
        hidden, places = evidence
        logits = add_product(self.bias, hidden, self.matrix(table).t())
        stretches = _stretches(self.features, self.vocabulary_size)
        for order in range(places.shape[1]):
            logits = logits + stretches[places[:, order]]
        return logits


def _stretches(features: torch.Tensor, length: int) -> torch.Tensor:
    """Every block of this many features, as rows of a view."""
    return features.as_strided((len(features) - length + 1, length), (1, 1))
