"""Minimum risk training: score whole samples, and raise the probability of the better ones.

After the fraction `seen` of a window the model draws `samples` continuations ŷ, each scored by its
overlap r with the true one (GLEU or BLEU); b is the baseline:

    L = -Σ_t log p(y_t | y_<t) / T  -  weight · Σ_ŷ (r(ŷ) - b) log p(ŷ | seen) / words drawn

The gradient of the second part is that of the expected risk 1 - r (Williams 1992; Shen et al. 2016,
"Minimum risk training"). b is the mean score of the other draws of the row or, self-critical, the
score of the greedy continuation (Rennie et al. 2017). Lines end where the model ends them. Dropout
is off while drawing and scoring, so that draws come from the trained distribution. Targets with a
source are drawn as a whole, without a seen part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from elman.batches import Batch
from elman.config import check_types
from elman.errors import InputError, choose
from elman.state import State, detach, select
from elman.training.regimes.own_words import draw, evaluating
from elman.training.regimes.regime import OPTIONS, Loss, Reader, Regime, StepLoss, begun
from elman.training.settings import require_least, require_part

_ORDERS = 4


def gleu(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """The GLEU of each row, (B,): ids (B, S) against (B, T), of the lengths (B,).

        GLEU = clipped matches of all 1- to 4-grams / those of the longer of the two sequences

    the smaller of n-gram precision and recall; it needs no smoothing for short texts. Wu et al.
    (2016): Google's neural machine translation system, section 5.
    """
    matches = _all_matches(own, own_lengths, true, true_lengths).sum(0)
    return matches / _ngrams(torch.maximum(own_lengths, true_lengths)).sum(0).clamp(min=1)


def bleu(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """The BLEU of each row as one sentence, (B,): ids (B, S) against (B, T).

        BLEU = min(1, exp(1 - T / S)) · (m_1 / n_1 · Π_{k=2..4} (m_k + 1) / (n_k + 1))^(1/4)

    where m_k of its n_k k-grams occur in the true one; orders above one are smoothed by adding one.
    Lin and Och (2004): ORANGE.
    """
    matches = _all_matches(own, own_lengths, true, true_lengths).double()
    ngrams = _ngrams(own_lengths).double()
    matches[1:] += 1
    ngrams[1:] += 1
    precisions = matches / ngrams.clamp(min=1)
    brevity = (1 - true_lengths / own_lengths.clamp(min=1)).clamp(max=0).exp()
    return (brevity * precisions.prod(0) ** (1 / _ORDERS)).float()


REWARDS = {"gleu": gleu, "bleu": bleu}


def _all_matches(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """Clipped matches of each order, (orders, B)."""
    own = _blank(own, own_lengths, -1)
    true = _blank(true, true_lengths, -2)  # blanks of the two sides are never the same
    return torch.stack([_matches(own, true, order) for order in range(1, _ORDERS + 1)])


def _ngrams(lengths: torch.Tensor) -> torch.Tensor:
    """The number of n-grams of each order in a sequence, (orders, B)."""
    return torch.stack([(lengths - order + 1).clamp(min=0) for order in range(1, _ORDERS + 1)])


def _blank(ids: torch.Tensor, lengths: torch.Tensor, blank: int) -> torch.Tensor:
    steps = torch.arange(ids.shape[1], device=ids.device)
    return torch.where(steps < lengths[:, None], ids, blank)


def _matches(own: torch.Tensor, true: torch.Tensor, order: int) -> torch.Tensor:
    """Clipped number of n-grams of a row that occur in the other, (B,)."""
    in_true = _same(own, true, order).sum(2)  # (B, n-grams) how often each occurs there
    earlier = _same(own, own, order).tril(-1).sum(2)  # how often it occurred before in its own row
    return (earlier < in_true).sum(1)


def _same(first: torch.Tensor, second: torch.Tensor, order: int) -> torch.Tensor:
    """Which n-grams are equal, (B, n-grams of the first, n-grams of the second)."""
    rows, columns = first.shape[1] - order + 1, second.shape[1] - order + 1
    equal = first[:, :, None] == second[:, None, :]
    same = equal[:, : max(rows, 0), : max(columns, 0)]
    for offset in range(1, order):
        same = same & equal[:, offset : offset + rows, offset : offset + columns]
    return same


BASELINES = ("mean", "greedy")


@dataclass(kw_only=True)
class MinimumRiskOptions:
    """Options of minimum risk training."""

    weight: float = 0.5  # of the risk, added to the usual loss
    samples: int = 4  # continuations per row
    seen: float = 0.5  # fraction of the window that is read first; with a source: nothing
    reward: str = "gleu"  # score of a draw: gleu or bleu
    baseline: str = "mean"  # mean: of the other draws; greedy: the greedy text (self-critical)

    def __post_init__(self) -> None:
        check_types(self)
        choose(REWARDS, self.reward, f"{OPTIONS}.reward")
        choose(dict.fromkeys(BASELINES), self.baseline, f"{OPTIONS}.baseline")
        require_part(self, OPTIONS, "seen")
        require_least(self, OPTIONS, weight=0, samples=1)
        if self.baseline == "mean" and self.samples == 1:
            raise InputError(
                f"{OPTIONS}.samples=1: the mean of the other draws needs at least 2; "
                "or use baseline=greedy"
            )


class MinimumRisk(Regime):
    """The usual loss and the risk of own continuations."""

    about = "raise the probability of continuations with a better score (Shen et al. 2016)"
    options_class = MinimumRiskOptions
    options: MinimumRiskOptions

    def loss(
        self, model: Any, batch: Batch, carried: State | None, progress: float
    ) -> tuple[Loss, State]:
        loss, after = model.loss(batch, carried)
        before = begun(model, batch, carried)
        with evaluating(model):
            risk = self.risk(model, batch, before)
        return StepLoss(loss.nats, loss.tokens, loss.penalty + self.options.weight * risk), after

    def risk(self, model: Reader, batch: Batch, carried: State) -> torch.Tensor:
        """The risk per word drawn; only its gradient is meaningful."""
        rows, width = batch.inputs.shape
        part = 0.0 if batch.source is not None else self.options.seen
        seen = min(max(1, round(part * width)), width)
        true = batch.targets[:, seen - 1 :]  # (B, S) the true text after the seen part
        lengths = torch.full((rows,), width, device=true.device)
        if batch.lengths is not None:
            lengths = batch.lengths
        true_lengths = (lengths - seen + 1).clamp(min=0)

        _, state = model.advance(batch.inputs[:, :seen], carried)
        copies = torch.arange(rows, device=true.device).repeat_interleave(self.options.samples)
        state, true, true_lengths = select(state, copies), true[copies], true_lengths[copies]
        own = continuations(model, detach(state), true.shape[1])
        own_lengths = _lengths(model, own) * (true_lengths > 0)
        rewards = REWARDS[self.options.reward](own, own_lengths, true, true_lengths)
        advantages = rewards - self._expected(model, state, rewards, true, true_lengths)

        steps = torch.arange(own.shape[1], device=own.device)
        log_probs = model.score(own, state)[0]
        judged = torch.where(steps < own_lengths[:, None], log_probs, 0.0).sum(1)
        return -(advantages * judged).sum() / own_lengths.sum().clamp(min=1)

    def _expected(
        self,
        model: Reader,
        state: State,
        rewards: torch.Tensor,
        true: torch.Tensor,
        true_lengths: torch.Tensor,
    ) -> torch.Tensor:
        """The baseline of each draw, (B · samples,)."""
        samples = self.options.samples
        if self.options.baseline == "mean":
            of_row = rewards.view(-1, samples)
            others = (of_row.sum(1, keepdim=True) - of_row) / (samples - 1)
            return others.flatten()
        firsts = torch.arange(0, len(true), samples, device=true.device)  # one copy of each row
        likeliest = continuations(model, detach(select(state, firsts)), true.shape[1], greedy=True)
        lengths = _lengths(model, likeliest)
        judge = REWARDS[self.options.reward]
        reached = judge(likeliest, lengths, true[firsts], true_lengths[firsts])
        return reached.repeat_interleave(samples)


@torch.no_grad()
def continuations(model: Reader, state: State, steps: int, greedy: bool = False) -> torch.Tensor:
    """Continue from a state for so many words, (B, steps): sampled or greedy."""
    found = []
    for _ in range(steps):
        log_probs = model.predict(state)
        found.append(log_probs.argmax(1) if greedy else draw(log_probs))
        state = model.read(found[-1][:, None], state)
    return torch.stack(found, dim=1)


def _lengths(model: Reader, own: torch.Tensor) -> torch.Tensor:
    """The length of each row: all words, or up to its first line end, (B,)."""
    if not model.resets_at_lines:
        return torch.full((len(own),), own.shape[1], device=own.device)
    goes_on = (own != model.eos_id).cumprod(1).sum(1)
    return (goes_on + 1).clamp(max=own.shape[1])
