"""Class-based softmax: first the class of a word, then the word in its class (Goodman 2001).

    p(w) = p(class of w | h) · p(w | its class, h)

Words of like frequency share a class, and classes have about the same sum of square roots of
frequencies: few frequent words, many rare ones (Mikolov et al. 2011). With √V classes a word costs
some 2 √V rows instead of V.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from elman.layers.outputs.output import Evidence, SoftmaxOutput, Table, at_least, log_frequencies
from elman.layers.softmax import softmax_loss, softmax_scores


class ClassSoftmax(SoftmaxOutput):
    """The class of a word, then the word."""

    about = "a class of words first, then the word in its class; exact (Goodman 2001)"

    def __init__(self, size: int, counts: torch.Tensor, *, classes: int = 0, **sizes: Any) -> None:
        """As many `classes`; 0: √V."""
        super().__init__(size, counts, **sizes)
        at_least(classes, 0, "classes")
        self.classes = min(classes or round(len(counts) ** 0.5), len(counts))
        class_of = _assign(counts, self.classes)
        members = torch.argsort(class_of, stable=True)  # words, class by class
        sizes_of = torch.bincount(class_of, minlength=self.classes)
        starts = torch.cumsum(sizes_of, 0) - sizes_of
        place = torch.empty_like(members)
        place[members] = torch.arange(len(counts))
        place -= starts[class_of]
        totals = counts.new_zeros(self.classes, dtype=torch.long)
        totals.index_add_(0, class_of, counts + 1)
        self.class_weight = nn.Parameter(torch.empty(self.classes, self.size).uniform_(-0.1, 0.1))
        self.class_bias = nn.Parameter(log_frequencies(totals - 1))
        self._sizes: list[int] = sizes_of.tolist()
        for name, buffer in (("class_of", class_of), ("members", members), ("place", place)):
            self.register_buffer(name, buffer, persistent=False)
        self._expected = float((sizes_of * totals).sum() / totals.sum())

    class_of: torch.Tensor
    members: torch.Tensor
    place: torch.Tensor

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        (hidden,) = evidence
        nats = softmax_loss(hidden, self.class_weight, self.class_bias, self.class_of[targets])
        _, groups = self._by_class(hidden, targets, table)
        return nats + sum(softmax_loss(*group) for group in groups)

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        (hidden,) = evidence
        of_class = softmax_scores(
            hidden, self.class_weight, self.class_bias, self.class_of[targets]
        )
        order, groups = self._by_class(hidden, targets, table)
        within = torch.cat([softmax_scores(*group) for group in groups] or [of_class[:0]])
        return of_class.index_add(0, order, within)

    def _by_class(
        self, hidden: torch.Tensor, targets: torch.Tensor, table: Table
    ) -> tuple[torch.Tensor, Iterator[tuple[torch.Tensor, ...]]]:
        """The order of the rows by the class of their target; and for each class that occurs: its
        rows of hidden vectors, weights and biases of its words, and which of them are the targets.

        All are cut from whole matrices at once: the gradient of each single cut would be a matrix
        of the size of the whole.
        """
        kinds = self.class_of[targets]
        order = torch.argsort(kinds, stable=True)
        counts = torch.bincount(kinds, minlength=self.classes).tolist()
        parts = zip(
            torch.split(hidden[order], counts),
            torch.split(self.matrix(table)[self.members], self._sizes),
            torch.split(self.bias[self.members], self._sizes),
            torch.split(self.place[targets[order]], counts),
            strict=True,
        )
        return order, (part for part in parts if len(part[0]))

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        (hidden,) = evidence
        classes = torch.addmm(self.class_bias, hidden, self.class_weight.t()).log_softmax(1)
        logits = torch.addmm(self.bias, hidden, self.matrix(table).t())[:, self.members]
        parts = [
            words.log_softmax(1) + classes[:, kind, None]
            for kind, words in enumerate(torch.split(logits, self._sizes, dim=1))
        ]
        return torch.cat(parts, dim=1)[:, torch.argsort(self.members)]

    def rows_per_token(self, step_tokens: int) -> float:
        return self.classes + self._expected

    def all_multiplications(self) -> float:
        return super().all_multiplications() + self.classes * self.size


def _assign(counts: torch.Tensor, classes: int) -> torch.Tensor:
    """The class of each word, (V,): no class is empty."""
    ranked = torch.argsort(counts, descending=True, stable=True)
    roots = (counts[ranked] + 1).double().sqrt()
    middle = torch.cumsum(roots, 0) - roots / 2
    kinds = (middle / roots.sum() * classes).long().clamp(max=classes - 1)
    # Where one word fills more than a class, those after it would be empty: count up by ones.
    kinds = torch.cumsum(torch.diff(kinds, prepend=kinds[:1]).clamp(max=1), 0)
    missing = classes - 1 - int(kinds[-1])
    if missing > 0:  # let the last words be classes of their own
        steps = torch.diff(kinds, prepend=kinds[:1])
        free = (steps == 0).nonzero().squeeze(1)
        free = free[free > 0]
        steps[free[-missing:]] = 1
        kinds = torch.cumsum(steps, 0)
    assigned = torch.empty_like(kinds)
    assigned[ranked] = kinds
    return assigned
