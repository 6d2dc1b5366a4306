"""Hierarchical softmax: a word is a path of yes-or-no decisions through a binary tree.

    p(w) = Π_nodes on the way to w  σ(± (V_node · h + b_node))

The tree is Huffman's, so that frequent words are near the root (Morin and Bengio 2005, Mikolov et
al. 2013): a word of PTB takes some ten products instead of 10,000.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import embedding, logsigmoid

from elman.layers.outputs.output import Evidence, Output, Table

_ROWS = 256  # whose whole vocabulary is computed at a time


class HierarchicalSoftmax(Output):
    """Decisions along a path through a tree."""

    about = "a path of decisions through a Huffman tree; exact (Morin and Bengio 2005)"
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

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        return -self.score(evidence, targets, table).sum()

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
        logits = torch.addmm(self.bias, hidden, self.weight.t())  # (N, nodes)
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

    The last node is the root. Ties go to what was made first, so that the tree follows from the
    counts alone.
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
    """On the way to each word: its nodes, the decisions there, and how many they are."""
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
    """Such that every word begins with its frequency."""
    totals = np.concatenate([counts.numpy(force=True).astype(np.float64) + 1, np.zeros(len(tree))])
    for node, (first, second) in enumerate(tree):
        totals[len(counts) + node] = totals[first] + totals[second]
    return torch.from_numpy(np.log(totals[tree[:, 0]] / totals[tree[:, 1]])).float()
