"""Outputs that learn together with an n-gram model of the same text.

The n-gram model (5-grams with modified Kneser–Ney smoothing) is counted when the model is built and
stored with it. While the network learns, the occurrence that it learns from is left out of the
counts (`counts/leave_one_out.py`): otherwise the n-grams would seem to know everything. Evaluation
uses all counts, and is exact.

    residual   p(w) ∝ exp(W_w · h + b_w + λ log p_n(w))     λ = 2 σ(g)     Li et al. 2022
    mixture    p(w) = λ softmax(W h + b)_w + (1 - λ) p_n(w)      λ = σ(g)
               g = (v · h + u · f + c) / 10     f_k = log(1 + times the last k words were seen) / 10

In both, the network only has to learn what the n-grams do not know. λ is a number per context: how
much to rely on n-grams (residual) or on the network (mixture), from the hidden vector and from the
number of times that the n-grams have seen the context. The tenths keep its steps small with the
large learning rates of recurrent networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from elman.counts.leave_one_out import CountedNgrams, LeaveOneOut, Mixed
from elman.errors import InputError
from elman.layers.outputs.output import Evidence, Table
from elman.layers.outputs.sampled import RecentWords, SampledSoftmax, adjusted
from elman.layers.softmax import chunks
from elman.matrix_products import LinearLayer, add_product

_SMALL = 0.1  # of the gate: see above
_PARTS = ("sizes", "prefixes", "words", "ngram_counts", "once")


class NgramOutput(RecentWords):
    """Base class: a sampled softmax that knows the n-grams of the training text.

    Before `count_text`, it knows the frequencies of single words only.
    """

    sizes: torch.Tensor  # these five describe the n-grams: see `CountedNgrams`
    prefixes: torch.Tensor
    words: torch.Tensor
    ngram_counts: torch.Tensor
    once: torch.Tensor

    def __init__(self, size: int, counts: torch.Tensor, *, order: int = 5, **options: Any) -> None:
        """`order`: the longest n-grams."""
        super().__init__(size, counts, order=order, **options)
        self.gate = LinearLayer(self.size + order - 1, 1)
        nn.init.zeros_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)
        self.register_buffer("eos_id", torch.tensor(0))
        nothing = counts.new_zeros(0, dtype=torch.int32)
        self.register_buffer("sizes", counts.new_zeros(order - 1, dtype=torch.int64))
        self.register_buffer("prefixes", nothing)
        self.register_buffer("words", nothing.clone())
        self.register_buffer("ngram_counts", counts.to(torch.int32))
        self.register_buffer("once", nothing.to(torch.uint8))
        self._smoothed: tuple[list[int], LeaveOneOut] | None = None

    eos_id: torch.Tensor

    def count_text(self, ids: np.ndarray, eos_id: int) -> None:
        counted = CountedNgrams.of(
            ids, order=self.order, vocabulary_size=self.vocabulary_size, eos_id=eos_id
        )
        found = (counted.sizes, counted.prefixes, counted.words, counted.counts, counted.once)
        for name, part in zip(_PARTS, found, strict=True):
            setattr(self, name, torch.from_numpy(part).to(self.bias.device))
        self.eos_id.fill_(eos_id)
        self._smoothed = None
        # Every order sorts the text once.
        self.preparing_operations = self.order * len(ids) * math.log2(max(len(ids), 2))

    def make_room(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        for name in _PARTS[1:]:
            shape = shapes.get(name, ())
            if len(shape) == 1:  # otherwise the comparison of the shapes reports it
                setattr(self, name, getattr(self, name).new_zeros(shape))
        self._smoothed = None

    @property
    def ngrams(self) -> LeaveOneOut:
        """The smoothed n-grams, computed when the counts have changed."""
        parts = [getattr(self, name) for name in (*_PARTS, "eos_id")]
        version = [part._version for part in parts]
        if self._smoothed is None or self._smoothed[0] != version:
            counted = CountedNgrams(*(part.numpy(force=True) for part in parts[:-1]))
            known = {"vocabulary_size": self.vocabulary_size, "eos_id": int(self.eos_id)}
            self._smoothed = version, LeaveOneOut(counted, **known)
        return self._smoothed[1]

    def gates(self, hidden: torch.Tensor, mixed: Mixed) -> torch.Tensor:
        """g of each row, (N,)."""
        seen = _SMALL * np.log1p(np.stack(mixed.totals[1:], axis=1))
        features = torch.from_numpy(seen).to(hidden)
        gates: torch.Tensor = self.gate(torch.cat([hidden, features], dim=1)).squeeze(1)
        return _SMALL * gates

    def multiplications(self, step_tokens: int) -> float:
        # One product for each sampled word and each order, at most; the gate.
        ngrams = self.rows_per_token(step_tokens) * self.order / 3  # they have no backward pass
        return super().multiplications(step_tokens) + self.gate.weight.numel() + ngrams

    def all_multiplications(self) -> float:
        ngrams = self.vocabulary_size * self.order
        return super().all_multiplications() + self.gate.weight.numel() + ngrams

    def score(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        parts = []
        for rows in chunks(len(targets), self.vocabulary_size, evidence[0]):
            some = tuple(part[rows] for part in evidence)
            parts.append(self.log_probs(some, table).gather(1, targets[rows, None]).squeeze(1))
        return torch.cat(parts)

    def _all_words(self, evidence: Evidence) -> tuple[Mixed, torch.Tensor]:
        """What the n-grams say after each context, and the log probabilities of all words."""
        hidden, contexts = evidence
        mixed = self.ngrams.mixed(contexts.numpy(force=True))
        kind = np.float64 if hidden.dtype == torch.float64 else np.float32
        probs = self.ngrams.of_words(mixed, np.arange(self.vocabulary_size), kind=kind)
        return mixed, torch.from_numpy(np.log(probs, out=probs)).to(hidden)


class NgramResidual(NgramOutput):
    """Logits added to the log probabilities of n-grams."""

    about = "sampled softmax added to the log probabilities of n-grams (Li et al. 2022)"

    def __init__(self, size: int, counts: torch.Tensor, **options: Any) -> None:
        super().__init__(size, counts, **options)
        nn.init.zeros_(self.bias)  # the n-grams know the frequencies of the words

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if not self.training:
            return -self.score(evidence, targets, table).sum()
        hidden, contexts = evidence
        words, right, adjust = self.draw(targets)
        ngrams, wanted = self.ngrams, targets.numpy(force=True)
        mixed = ngrams.left_out(contexts.numpy(force=True), wanted)
        probs = ngrams.of_words(mixed, words.numpy(force=True), wanted)
        log_probs = torch.from_numpy(np.log(probs, out=probs)).to(hidden)
        logits = add_product(
            self.bias[words], hidden, self.matrix(table).index_select(0, words).t()
        )
        logits = torch.addcmul(logits, 2 * self.gates(hidden, mixed).sigmoid()[:, None], log_probs)
        logits, own = adjusted(logits, right, adjust)
        return (logits.logsumexp(1) - own.squeeze(1)).sum()

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        hidden = evidence[0]
        mixed, log_probs = self._all_words(evidence)
        logits = add_product(self.bias, hidden, self.matrix(table).t())
        rates = 2 * self.gates(hidden, mixed).sigmoid()
        return torch.addcmul(logits, rates[:, None], log_probs).log_softmax(1)


class NgramMixture(NgramOutput):
    """A mixture of a network and n-grams, with weights for each context.

    A network that knows nothing yet has hardly a part in the mixture, so it would hardly learn: the
    n-grams would win once and for all. So the gradient is that of

        (1 - own) · loss of the mixture + own · loss of the network by itself

    for the network; the weights λ always learn from the loss of the mixture.
    """

    about = "mixture of a sampled softmax and n-grams, weighted by the context"

    def __init__(
        self, size: int, counts: torch.Tensor, *, own: float = 1.0, **options: Any
    ) -> None:
        """`own`: how much the network learns as if it were alone."""
        super().__init__(size, counts, **options)
        if not 0 <= own <= 1:
            raise InputError(f"own={own}: must be from 0 to 1")
        self.own = own

    def loss(self, evidence: Evidence, targets: torch.Tensor, table: Table) -> torch.Tensor:
        if not self.training:
            return -self.score(evidence, targets, table).sum()
        hidden, contexts = evidence
        words, right, adjust = self.draw(targets)
        wanted = targets.numpy(force=True)
        mixed = self.ngrams.left_out(contexts.numpy(force=True), wanted)
        counted = torch.from_numpy(np.log(self.ngrams.of_targets(mixed, wanted))).to(hidden)
        logits = add_product(
            self.bias[words], hidden, self.matrix(table).index_select(0, words).t()
        )
        logits, own = adjusted(logits, right, adjust)
        learned = own.squeeze(1) - logits.logsumexp(1)
        gates = self.gates(hidden.detach(), mixed)
        nats = -_mix(_passing(learned, 1 - self.own), counted, gates).sum()
        alone = -self.own * learned.sum()
        return nats + (alone - alone.detach())  # the value is that of the mixture

    def log_probs(self, evidence: Evidence, table: Table) -> torch.Tensor:
        mixed, counted = self._all_words(evidence)
        learned = super().log_probs(evidence, table)
        return _mix(learned, counted, self.gates(evidence[0], mixed)[:, None])

    def multiplications(self, step_tokens: int) -> float:
        """As many as without n-grams: only the target is looked up."""
        return SampledSoftmax.multiplications(self, step_tokens) + self.gate.weight.numel()


def _passing(values: torch.Tensor, share: float) -> torch.Tensor:
    """The same values, with a share of their gradient."""
    return values.detach() + share * (values - values.detach())


def _mix(learned: torch.Tensor, counted: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
    """Log probabilities of the mixture."""
    inside = nn.functional.logsigmoid
    return torch.logaddexp(learned + inside(gates), counted + inside(-gates))
