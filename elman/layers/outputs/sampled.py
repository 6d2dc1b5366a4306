"""Outputs that train on a sample of the vocabulary and are exact in evaluation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

import torch
from torch.nn.functional import logsigmoid

from elman.config import at_least
from elman.errors import InputError
from elman.layers.outputs.output import Evidence, SoftmaxOutput
from elman.layers.softmax import softmax_loss
from elman.matrix_products import add_product
from elman.state import State

_HIGHEST_ORDER = 9


class SampledSoftmax(SoftmaxOutput):
    """Sampled softmax: the normaliser estimated from part of the vocabulary (Bengio and Senécal
    2003).

    Half of `samples` are always the most frequent words; the others are drawn uniformly from the
    rest. The words of the window are included too, because they are targets. A word that is
    included with probability π represents 1/π words, so log 1/π is added to its logit and the
    normaliser is correct on average. A smaller vocabulary is used whole. So is any vocabulary in
    the last part of a training, the share `full_last`: without the noise of sampling, but slower.
    """

    about = "sampled softmax: trains on frequent and random words; exact in evaluation"

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        samples: int = 1000,
        full_last: float = 0.0,
        **sizes: Any,
    ) -> None:
        """`samples`: words to train on; `full_last`: the last share of a training that uses all."""
        super().__init__(size, counts, **sizes)
        at_least(samples, 2, "samples")
        if not 0 <= full_last <= 1:
            raise InputError(f"full_last={full_last}: must be from 0 to 1")
        self.samples = samples
        self.full_last = full_last
        self._all = samples >= self.vocabulary_size  # whether to train on all words now
        ranked = torch.argsort(counts, descending=True, stable=True)
        self.register_buffer("ranked", ranked, persistent=False)
        frequency = (counts / counts.sum().clamp(min=1)).float()
        self.register_buffer("frequency", frequency, persistent=False)
        self.ranked: torch.Tensor
        self.frequency: torch.Tensor

    def follow(self, progress: float) -> bool:
        before = self._all
        small = self.samples >= self.vocabulary_size
        self._all = small or bool(self.full_last and progress >= 1 - self.full_last)
        return before != self._all

    def rows_per_token(self, step_tokens: int) -> float:
        if self._all:
            return self.vocabulary_size
        return float((1 - self._absent(step_tokens)).sum())

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        if self._all:
            return super().learn(hidden, targets, matrix)
        words, places, adjust = self.draw(targets)
        return softmax_loss(hidden, matrix.index_select(0, words), self.bias[words], places, adjust)

    def draw(self, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The sampled words, the positions of the targets among them, and the logit corrections.

        The target of a row gets no correction.
        """
        if self._all:
            return torch.arange(len(self.ranked)), targets, torch.zeros_like(self.frequency)
        always = self.samples // 2
        rest = self.ranked[always:]
        drawn = rest[torch.randperm(len(rest))[: self.samples - always]]
        there = torch.zeros_like(self.ranked, dtype=torch.bool)
        there[self.ranked[:always]] = True
        there[drawn] = True
        there[targets] = True
        words = there.nonzero().squeeze(1)
        places = torch.cumsum(there, 0) - 1  # id to its position among them
        return words, places[targets], self._log_weights(len(targets) - 1)[words]

    def _log_weights(self, others: int) -> torch.Tensor:
        """log 1/π of every word, where π is its inclusion probability as a non-target."""
        return -torch.log1p(-self._absent(others))

    def _absent(self, tokens: int) -> torch.Tensor:
        """The probability that each word is not sampled, given the number of window tokens."""
        always = self.samples // 2
        missed = 1 - (self.samples - always) / (self.vocabulary_size - always)
        absent = missed * (1 - self.frequency).pow(tokens)
        absent[self.ranked[:always]] = 0
        return absent


class RecentWords(SampledSoftmax):
    """Base class of sampled softmaxes that also look at the last words, as n-grams do."""

    def __init__(self, size: int, counts: torch.Tensor, *, order: int, **options: Any) -> None:
        """`order`: the longest n-grams."""
        super().__init__(size, counts, **options)
        if not 2 <= order <= _HIGHEST_ORDER:
            raise InputError(f"order={order}: must be from 2 to {_HIGHEST_ORDER}")
        self.order = order

    def begin(self, batch_size: int) -> State:
        return torch.full((batch_size, self.order - 1), -1, device=self.bias.device)

    def gather(
        self, hidden: torch.Tensor, ids: torch.Tensor, memory: State
    ) -> tuple[Evidence, State]:
        """The hidden vectors, and the last words at each step, (B, T, order - 1), oldest first."""
        (hidden,), _ = super().gather(hidden, ids, memory)
        known = torch.cat([cast("torch.Tensor", memory), ids], dim=1)
        return (hidden, known.unfold(1, self.order - 1, 1)[:, 1:]), known[:, ids.shape[1] :]


def adjusted(
    logits: torch.Tensor, right: torch.Tensor, adjust: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits with the corrections of `SampledSoftmax.draw`, and those of the targets, (N, 1),
    which get none.
    """
    own = logits.gather(1, right[:, None])
    return (logits + adjust).scatter(1, right[:, None], own), own


class NoiseOutput(SoftmaxOutput):
    """Base class of outputs that learn to distinguish the next word from noise words.

        Δ(w) = W_w · h + b_w - log k q(w)         q: noise distribution, k noise words

    The noise words are drawn once for all tokens of a step (Zoph et al. 2016), so their scores are
    one matrix product. Each subclass defines its loss from Δ.
    """

    def __init__(
        self,
        size: int,
        counts: torch.Tensor,
        *,
        samples: int = 500,
        noise_power: float = 1.0,
        **sizes: Any,
    ) -> None:
        """`samples`: the number of noise words, drawn by frequency to the power `noise_power`."""
        super().__init__(size, counts, **sizes)
        at_least(samples, 1, "samples")
        at_least(noise_power, 0, "noise_power")
        self.samples = samples
        frequent = (counts + 1).double().pow(noise_power)
        noise = (frequent / frequent.sum()).float()
        self.register_buffer("noise", noise, persistent=False)
        self.noise: torch.Tensor

    @abstractmethod
    def contrast(self, true: torch.Tensor, noise: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """The loss from Δ of the targets, (N,), and of the noise words, (N, k).

        same (N, k): where a noise word is the target of the row.
        """

    def learn(
        self, hidden: torch.Tensor, targets: torch.Tensor, matrix: torch.Tensor
    ) -> torch.Tensor:
        drawn = torch.multinomial(self.noise, self.samples, replacement=True)
        words = torch.cat([targets, drawn])  # both at once: a gradient is as large as the matrix
        weight = matrix.index_select(0, words)
        offsets = (self.bias - (self.samples * self.noise).log().to(self.bias.dtype))[words]
        true = (hidden * weight[: len(targets)]).sum(1) + offsets[: len(targets)]
        noise = add_product(offsets[len(targets) :], hidden, weight[len(targets) :].t())
        return self.contrast(true, noise, drawn == targets[:, None])

    def rows_per_token(self, step_tokens: int) -> float:
        return self.samples + 1


class NoiseContrastive(NoiseOutput):
    """Noise-contrastive estimation: is it the next word, or noise?

        loss = -log σ(Δ(target)) - Σ_noise log σ(-Δ(w))                Δ: see `NoiseOutput`

    (Gutmann and Hyvärinen 2010, Mnih and Teh 2012.) The scores are nearly normalised from the
    start, because the initial biases are log frequencies: Z = 1 need not be learned.
    """

    about = "noise-contrastive estimation: tells the next word from noise; exact in evaluation"

    def contrast(self, true: torch.Tensor, noise: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        return -logsigmoid(true).sum() - logsigmoid(-noise).sum()


class BlackOut(NoiseOutput):
    """BlackOut: a softmax over the target and a few sampled words (Ji et al. 2016).

        p̃(w) = exp(Δ(w)) / Σ_{v in target, noise} exp(Δ(v))             Δ: see `NoiseOutput`
        loss = -log p̃(target) - Σ_noise log(1 - p̃(w))

    A noise word that equals the target of a token does not count for that token.
    """

    about = "BlackOut: softmax over the next word and a few random ones; exact in evaluation"

    def __init__(
        self, size: int, counts: torch.Tensor, *, noise_power: float = 0.4, **options: Any
    ) -> None:
        super().__init__(size, counts, noise_power=noise_power, **options)

    def contrast(self, true: torch.Tensor, noise: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        others = noise.masked_fill(same, -torch.inf)
        log_p = torch.cat([true[:, None], others], dim=1).log_softmax(1)
        # 1 - p̃ is never exactly zero, so its logarithm has a gradient.
        against = torch.log1p(-log_p[:, 1:].exp().clamp(max=1 - 1e-6))
        return -log_p[:, 0].sum() - against.sum()
