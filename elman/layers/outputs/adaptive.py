"""Adaptive softmax: frequent words at full size, rare ones in clusters of smaller vectors.

    p(w) = p_head(w)                        the most frequent words
    p(w) = p_head(cluster) · p(w | cluster)   all others, by ever smaller vectors

(Grave et al. 2017.) The arithmetic is torch's own; here words are ranked by frequency, which it
expects of the ids.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.errors import InputError
from elman.layers.outputs.output import Evidence, Output, Table, at_least

_SHARES = (0.2, 0.6)  # of the vocabulary, where no cutoffs are given


class AdaptiveSoftmax(Output):
    """Rare words in clusters with smaller vectors."""

    about = "rare words in clusters with smaller vectors, exact (Grave et al. 2017)"
    can_be_tied = False

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        cutoffs: tuple[int, ...] = (),
        shrink: float = 4.0,
        **sizes: Any,
    ) -> None:
        """`cutoffs`: ranks at which a cluster begins; each has vectors `shrink` times smaller."""
        super().__init__(size, counts, **sizes)
        at_least(shrink, 1, "shrink")
        if not cutoffs:
            cutoffs = tuple(int(share * self.vocabulary_size) for share in _SHARES)
            cutoffs = tuple(sorted({cut for cut in cutoffs if cut}))
        ascending = sorted(set(cutoffs)) == [*cutoffs]
        if not ascending or not cutoffs or not 0 < cutoffs[0] <= cutoffs[-1] < len(counts):
            raise InputError(
                f"cutoffs={list(cutoffs)}: must rise, within the {len(counts):,} words there are"
            )
        # The smallest vectors must have at least one number.
        shrink = min(shrink, size ** (1 / len(cutoffs)))
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            size, self.vocabulary_size, cutoffs, div_value=shrink
        )
        rank = torch.argsort(torch.argsort(counts, descending=True, stable=True))
        self.register_buffer("rank", rank, persistent=False)
        self.rank: torch.Tensor

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        return -self.score(evidence, targets, table).sum()

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if not len(targets):
            return evidence[0].new_zeros(0)
        scores: torch.Tensor = self.softmax(evidence[0], self.rank[targets]).output
        return scores

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        return self.softmax.log_prob(evidence[0])[:, self.rank]

    def multiplications(self, step_tokens: int) -> float:
        """As if every token took the head and half of the clusters: how many do, the text says."""
        head = self.softmax.head.weight.numel()
        tails = sum(parameter.numel() for parameter in self.softmax.tail.parameters())
        return head + tails / 2

    def all_multiplications(self) -> float:
        return sum(parameter.numel() for parameter in self.softmax.parameters())
