"""Factored outputs: predict a word in steps, so each step computes a part of the vocabulary."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import embedding, logsigmoid

from elman.config import at_least
from elman.errors import InputError
from elman.layers.outputs.output import (
    Evidence,
    Output,
    SoftmaxOutput,
    Table,
    log_frequencies,
)
from elman.layers.softmax import softmax_loss, softmax_scores
from elman.matrix_products import add_product

_SHARES = (0.2, 0.6)  # shares of the vocabulary, if no cutoffs are given


class AdaptiveSoftmax(Output):
    """Adaptive softmax: frequent words at full size, rare ones in clusters of smaller vectors.

        p(w) = p_head(w)                        the most frequent words
        p(w) = p_head(cluster) · p(w | cluster)   all others, with smaller and smaller vectors

    (Grave et al. 2017.) torch computes it; this class ranks words by frequency, because torch
    expects ids in that order.
    """

    about = "clusters of rare words with smaller vectors; exact (Grave et al. 2017)"
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

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if not len(targets):
            return evidence[0].new_zeros(0)
        return self.softmax(evidence[0], self.rank[targets]).output

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        return self.softmax.log_prob(evidence[0])[:, self.rank]

    def multiplications(self, step_tokens: int) -> float:
        """An estimate: every token uses the head and half of the clusters."""
        head = self.softmax.head.weight.numel()
        tails = sum(parameter.numel() for parameter in self.softmax.tail.parameters())
        return head + tails / 2

    def all_multiplications(self) -> float:
        return sum(parameter.numel() for parameter in self.softmax.parameters())


class ClassSoftmax(SoftmaxOutput):
    """Class-based softmax: first the class of a word, then the word in its class (Goodman 2001).

        p(w) = p(class of w | h) · p(w | its class, h)

    Words of similar frequency share a class. All classes have about the same sum of square roots of
    frequencies, so a class has few frequent words or many rare ones (Mikolov et al. 2011). With √V
    classes a word costs about 2 √V rows instead of V.
    """

    about = "predicts the class of the word, then the word in its class; exact (Goodman 2001)"

    def __init__(self, size: int, counts: torch.Tensor, *, classes: int = 0, **sizes: Any) -> None:
        """`classes`: the number of classes; 0: √V."""
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
        """The order of rows sorted by the class of their target; and for each class that occurs:
        its hidden vectors, the weights and biases of its words, and the targets among these words.

        The matrices are split once: the gradient of each separate slice would be as large as the
        whole matrix.
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
        classes = add_product(self.class_bias, hidden, self.class_weight.t()).log_softmax(1)
        logits = add_product(self.bias, hidden, self.matrix(table).t())[:, self.members]
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
    # If one word fills more than a class, the next would be empty: number without gaps.
    kinds = torch.cumsum(torch.diff(kinds, prepend=kinds[:1]).clamp(max=1), 0)
    missing = classes - 1 - int(kinds[-1])
    if missing > 0:  # make the last words separate classes
        steps = torch.diff(kinds, prepend=kinds[:1])
        free = (steps == 0).nonzero().squeeze(1)
        free = free[free > 0]
        steps[free[-missing:]] = 1
        kinds = torch.cumsum(steps, 0)
    assigned = torch.empty_like(kinds)
    assigned[ranked] = kinds
    return assigned


_ROWS = 256  # rows per step when the whole vocabulary is computed


class HierarchicalSoftmax(Output):
    """Hierarchical softmax: a word is a path of binary decisions through a tree.

        p(w) = Π_nodes on the way to w  σ(± (V_node · h + b_node))

    It is a Huffman tree, so frequent words are near the root (Morin and Bengio 2005, Mikolov et al.
    2013): a word of PTB takes about ten products instead of 10,000.
    """

    about = "binary decisions along a Huffman tree; exact (Morin and Bengio 2005)"
    can_be_tied = False

    def __init__(self, size: int, counts: torch.Tensor, **sizes: Any) -> None:
        super().__init__(size, counts, **sizes)
        tree = _huffman(counts.numpy(force=True))
        nodes, signs, lengths = _paths(tree, self.vocabulary_size)
        self.weight = nn.Parameter(torch.empty(len(tree), size).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(_first_biases(tree, counts))
        for name, array in (("nodes", nodes), ("signs", signs), ("lengths", lengths)):
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self._levels = [torch.from_numpy(level) for level in _levels(tree, self.vocabulary_size)]
        self._children = torch.from_numpy(tree)
        weights = (counts + 1).double()
        self._expected = float((weights * self.lengths).sum() / weights.sum())

    nodes: torch.Tensor  # (V, longest path): on the way to each word
    signs: torch.Tensor  # (V, longest path): 1 for the first child, -1 for the second, 0: no node
    lengths: torch.Tensor  # (V,)

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        (hidden,) = evidence
        if not len(targets):
            return hidden.new_zeros(0)
        longest = int(self.lengths[targets].max())
        nodes, signs = self.nodes[targets, :longest], self.signs[targets, :longest]
        vectors = embedding(nodes, self.weight)  # (N, path, size)
        logits = torch.bmm(vectors, hidden.unsqueeze(2)).squeeze(2) + self.bias[nodes]
        return torch.where(signs == 0, 0, logsigmoid(logits * signs)).sum(1)

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        parts = [self._all(rows) for rows in torch.split(evidence[0], _ROWS)]
        return torch.cat(parts)

    def _all(self, hidden: torch.Tensor) -> torch.Tensor:
        """Down from the root, all nodes of a level at a time."""
        logits = add_product(self.bias, hidden, self.weight.t())  # (N, nodes)
        words = self.vocabulary_size
        reached = hidden.new_zeros(words + len(self._children), len(hidden))  # words, then nodes
        for level in self._levels:
            here, decided = reached[words + level], logits[:, level].t()
            reached[self._children[level, 0]] = here + logsigmoid(decided)
            reached[self._children[level, 1]] = here + logsigmoid(-decided)
        return reached[:words].t()

    def multiplications(self, step_tokens: int) -> float:
        return self._expected * self.weight.shape[1]

    def all_multiplications(self) -> float:
        return self.weight.numel()


def _huffman(counts: np.ndarray) -> np.ndarray:
    """The two children of each inner node, (V - 1, 2); below V they are words.

    The last node is the root. Ties go to the older node, so the tree depends only on the counts.
    """
    heap = [(int(count) + 1, word) for word, count in enumerate(counts)]
    heapq.heapify(heap)
    children: list[tuple[int, int]] = []
    while len(heap) > 1:
        first, second = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (first[0] + second[0], len(counts) + len(children)))
        children.append((first[1], second[1]))
    return np.array(children, dtype=np.int64).reshape(-1, 2)


def _levels(tree: np.ndarray, words: int) -> list[np.ndarray]:
    """The inner nodes level by level, from the root down."""
    levels = []
    level = np.array([len(tree) - 1]) if len(tree) else np.empty(0, dtype=np.int64)
    while len(level):
        levels.append(level)
        children = tree[level].ravel()
        level = children[children >= words] - words
    return levels


def _paths(tree: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The path to each word: its nodes, the decisions there, and its length."""
    levels = _levels(tree, words)
    deepest = len(levels)
    nodes = np.zeros((words + len(tree), deepest), dtype=np.int64)
    signs = np.zeros((words + len(tree), deepest), dtype=np.float32)
    lengths = np.zeros(words + len(tree), dtype=np.int64)
    for depth, level in enumerate(levels):
        for side, sign in ((0, 1.0), (1, -1.0)):
            children = tree[level, side]
            nodes[children], signs[children] = nodes[words + level], signs[words + level]
            nodes[children, depth], signs[children, depth] = level, sign
            lengths[children] = depth + 1
    return nodes[:words], signs[:words], lengths[:words]


def _first_biases(tree: np.ndarray, counts: torch.Tensor) -> torch.Tensor:
    """Biases such that the initial probability of every word is its frequency."""
    totals = np.concatenate([counts.numpy(force=True).astype(np.float64) + 1, np.zeros(len(tree))])
    for node, (first, second) in enumerate(tree):
        totals[len(counts) + node] = totals[first] + totals[second]
    return torch.from_numpy(np.log(totals[tree[:, 0]] / totals[tree[:, 1]])).float()
