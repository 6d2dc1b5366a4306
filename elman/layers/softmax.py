"""The full softmax over a large vocabulary, without storing its (tokens × vocabulary) matrix.

Takes hidden vectors (N, size), a weight (V, size), a bias (V,) and targets (N,); gives the sum of
nats or log probabilities of the targets, differentiable. Called by the output layers.

The rows are processed in chunks. In training, the gradient of the logits of a chunk follows
directly from its probabilities: it is softmax minus one at the target. So gradients are computed in
the forward pass (`Gradients`), and nothing of size (N, V) is stored or recomputed for the backward
pass.

Scores without gradients go through blocks of the vocabulary, with the logarithm of the sum so far
(`LogSum`): many rows at once use each block of weights while it is in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from elman.matrix_products import (
    accumulate_product,
    add_product,
    add_product_into,
    multiply,
    multiply_into,
)

_CHUNK_BYTES = 8 << 20  # logits per chunk: a chunk should fit into the CPU cache
_CHUNK_ROWS = 400  # not fewer, because every chunk reads all weights and writes their gradient
_MOST_BYTES = 64 << 20  # fewer after all, if their logits take more than this
# Blocks of logits for scores: more rows or words at once were not faster.
_BLOCK_ROWS = 1 << 10
_BLOCK_WORDS = 1 << 10


def softmax_loss(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    targets: torch.Tensor,
    adjust: torch.Tensor | None = None,
    *,
    smoothing: float = 0.0,
) -> torch.Tensor:
    """Sum over rows of -log softmax(W h + b)[target]; `adjust` is for sampled rows of W.

    adjust (V,): added to every logit except that of the target; smoothing: the share of the target
    distribution that is uniform over all words.
    """
    gradients = Gradients.wanted(hidden, weight, bias)
    nats = hidden.new_zeros((), dtype=torch.float64)
    with torch.no_grad():
        for rows in chunks(len(hidden), len(weight), hidden):
            logits = add_product(bias, hidden[rows], weight.t())
            place = targets[rows, None]
            chosen = logits.gather(1, place)
            if adjust is not None:
                logits += adjust
                logits.scatter_(1, place, chosen)
            wanted = chosen
            if smoothing:
                wanted = torch.lerp(chosen, logits.mean(1, keepdim=True), smoothing)
            # Step by step in the same memory: each pass over it takes as long as a tenth of a
            # product, and an exponential twice that.
            largest = logits.amax(1, keepdim=True)
            summed = logits.sub_(largest).exp_().sum(1, keepdim=True)
            nats += (summed.log() + largest - wanted).sum(dtype=torch.float64)
            if gradients is not None:
                slopes = logits.div_(summed)
                slopes.scatter_add_(1, place, torch.full_like(chosen, smoothing - 1))
                if smoothing:
                    slopes.sub_(smoothing / slopes.shape[1])
                gradients.add(rows, slopes)
    loss = nats.to(hidden.dtype)
    return loss if gradients is None else gradients.of(loss)


def softmax_scores(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    targets: torch.Tensor,
    *,
    least: float = 0.0,
) -> torch.Tensor:
    """log softmax(W h + b)[target] of each row, (N,).

    Differentiable; `softmax_loss` computes their sum faster. With `least` and few rows, the
    gradient of W is sparse: without the words that are less probable than that in every row.
    """
    if not _learned(hidden, weight, bias):
        return _score_in_blocks(hidden, weight, bias, targets)
    return _SoftmaxScores.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, least
    )


def softmax_scores_and_masses(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    targets: torch.Tensor,
    members: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """log softmax(W h + b)[target] and log of the sum of softmax over a set of words, (N,) each.

    members (V,): which words are in the set. Not differentiable.
    """
    inside, outside = members.nonzero()[:, 0], (~members).nonzero()[:, 0]
    places = torch.cat([inside, outside]).argsort()[targets]  # the set first, then the others
    set_words, other_words = (weight[inside], bias[inside]), (weight[outside], bias[outside])
    scores, masses = torch.empty_like(hidden[:, 0]), torch.empty_like(hidden[:, 0])
    for rows in even_slices(len(hidden), _BLOCK_ROWS):
        of_set, chosen = _sum_words(hidden[rows], *set_words, places[rows])
        others, rest = _sum_words(hidden[rows], *other_words, places[rows] - len(inside))
        total = torch.logaddexp(of_set, others)
        scores[rows] = torch.maximum(chosen, rest) - total
        masses[rows] = of_set - total
    return scores, masses


def chunks(rows: int, vocabulary_size: int, like: torch.Tensor) -> Iterator[slice]:
    """Split the rows into equal chunks. Their logits fit into the CPU cache, unless that leaves
    too few rows.
    """
    per_row = vocabulary_size * like.element_size()
    enough = min(_CHUNK_ROWS, _MOST_BYTES // per_row)
    yield from even_slices(rows, max(1, enough, _CHUNK_BYTES // per_row))


def even_slices(length: int, size: int) -> Iterator[slice]:
    """Slices of equal length, at most `size`: a last one of a few rows would cost nearly as much
    as a full one.
    """
    count = max(1, -(-length // size))
    for number in range(count):
        yield slice(number * length // count, (number + 1) * length // count)


def _score_in_blocks(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    scores = torch.empty_like(hidden[:, 0])
    for rows in even_slices(len(hidden), _BLOCK_ROWS):
        total, chosen = _sum_words(hidden[rows], weight, bias, targets[rows])
        scores[rows] = chosen - total
    return scores


def _sum_words(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, targets: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """log Σ exp(W h + b), and the logit of the target, -inf if it is none of these words; (N,)."""
    total = LogSum(hidden)
    chosen = torch.full_like(total.largest, -torch.inf)
    size = max(_BLOCK_WORDS, _BLOCK_ROWS * _BLOCK_WORDS // max(len(hidden), 1))
    memory = hidden.new_empty(len(hidden) * min(size, len(weight)))
    for words in even_slices(len(weight), size):
        count = words.stop - words.start
        if not count:
            continue
        logits = memory[: len(hidden) * count].view(len(hidden), count)
        add_product_into(logits, bias[words], hidden, weight[words].t())
        place = (targets - words.start)[:, None]
        is_here = (place >= 0) & (place < count)
        here = logits.gather(1, place.clamp(0, count - 1))
        chosen = torch.where(is_here, here, chosen)
        total.add(logits)
    return total.log()[:, 0], chosen[:, 0]


class LogSum:
    """The logarithm of a sum of exponentials, block by block, relative to the largest so far."""

    def __init__(self, hidden: torch.Tensor) -> None:
        """`hidden` (N, …): one sum per row."""
        # Below all logits, but finite: -inf minus -inf is undefined.
        self.largest = hidden.new_full((len(hidden), 1), torch.finfo(hidden.dtype).min)
        self.summed = torch.zeros_like(self.largest)

    def add(self, logits: torch.Tensor) -> None:
        """Add a block (N, words), which is overwritten."""
        largest = torch.maximum(self.largest, logits.amax(1, keepdim=True))
        self.summed *= (self.largest - largest).exp_()
        self.summed += logits.sub_(largest).exp_().sum(1, keepdim=True)
        self.largest = largest

    def log(self) -> torch.Tensor:
        """(N, 1)"""
        return self.summed.log() + self.largest


def _learned(*parts: torch.Tensor) -> bool:
    """Whether gradients are needed."""
    return torch.is_grad_enabled() and any(part.requires_grad for part in parts)


class Gradients:
    """Gradients of hidden vectors, weight and bias, summed chunk by chunk with the loss."""

    def __init__(self, hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> None:
        self._leaves = hidden, weight, bias
        self._for_hidden = torch.empty_like(hidden)
        self._for_weight: torch.Tensor | None = None
        self._for_bias = torch.zeros_like(bias)

    @classmethod
    def wanted(
        cls, hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> Gradients | None:
        """None if no gradients are needed."""
        return cls(hidden, weight, bias) if _learned(hidden, weight, bias) else None

    def add(self, rows: slice, slopes: torch.Tensor) -> None:
        """Add the gradients of the logits of these rows, (n, V); every row is added once."""
        hidden, weight, _ = self._leaves
        multiply_into(self._for_hidden[rows], slopes, weight)
        if self._for_weight is None:
            self._for_weight = multiply(slopes.t(), hidden[rows])
        else:
            accumulate_product(self._for_weight, slopes.t(), hidden[rows])
        self._for_bias += slopes.sum(0)

    @property
    def parts(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of hidden vectors, weight and bias."""
        assert self._for_weight is not None, "no rows were added"
        return self._for_hidden, self._for_weight, self._for_bias

    def of(self, loss: torch.Tensor) -> torch.Tensor:
        """Connect the loss with these gradients for autograd."""
        return _Differentiated.apply(  # type: ignore[no-untyped-call]
            loss, *self._leaves, *self.parts
        )


class _Differentiated(torch.autograd.Function):
    """A loss whose gradients are already known."""

    @staticmethod
    def forward(ctx: Any, loss: torch.Tensor, *leaves_and_gradients: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*leaves_and_gradients[3:])
        return loss.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, above: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, *(gradient * above for gradient in ctx.saved_tensors), None, None, None


class _SoftmaxScores(torch.autograd.Function):
    """The weight of each score is known only in the backward pass, which computes all logits again.

    For a few rows, as in dynamic evaluation, the logits are stored instead.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        targets: torch.Tensor,
        least: float,
    ) -> torch.Tensor:
        ctx.least = least
        scores, normalisers = hidden.new_empty(len(hidden)), hidden.new_empty(len(hidden))
        kept = []
        for rows in chunks(len(hidden), len(weight), hidden):
            logits = add_product(bias, hidden[rows], weight.t())
            normalisers[rows] = logits.logsumexp(1)
            scores[rows] = logits.gather(1, targets[rows, None]).squeeze(1) - normalisers[rows]
            if len(logits) == len(hidden):
                kept = [logits]
        ctx.save_for_backward(hidden, weight, bias, targets, normalisers, *kept)
        return scores

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, above: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden, weight, bias, targets, normalisers, *kept = ctx.saved_tensors

        def slopes(rows: slice) -> torch.Tensor:
            logits = kept[0] if kept else add_product(bias, hidden[rows], weight.t())
            slopes = (logits - normalisers[rows, None]).exp_().mul_(-above[rows, None])
            return slopes.scatter_add_(1, targets[rows, None], above[rows, None])

        if kept:  # nothing to add up, so nothing to fill with zeros first
            all_slopes = slopes(slice(None))
            for_weight = _sparse(all_slopes, hidden, above, ctx.least, weight.shape)
            return multiply(all_slopes, weight), for_weight, all_slopes.sum(0), None, None
        gradients = Gradients(hidden, weight, bias)
        for rows in chunks(len(hidden), len(weight), hidden):
            gradients.add(rows, slopes(rows))
        return *gradients.parts, None, None


def _sparse(
    slopes: torch.Tensor,
    hidden: torch.Tensor,
    above: torch.Tensor,
    least: float,
    shape: torch.Size,
) -> torch.Tensor:
    """The gradient of the weight from those of the logits (N, V): of all words, or of probable
    ones only.
    """
    if not least:
        return multiply(slopes.t(), hidden)
    words = (slopes.abs() > least * above.abs()[:, None]).any(0).nonzero().t()
    values = multiply(slopes.index_select(1, words[0]).t(), hidden)
    # It warns unless it is told whether to check.
    with torch.sparse.check_sparse_tensor_invariants(False):  # type: ignore[no-untyped-call]
        return torch.sparse_coo_tensor(words, values, shape, is_coalesced=True)
