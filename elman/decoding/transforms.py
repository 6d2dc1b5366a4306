"""Transforms reshape the distribution of the next token before one is drawn.

`TRANSFORMS` defines the options of `model.generate`, the flags and help of `elman generate` and
`elman list decoding`. Several transforms are applied in the order of this list.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elman.errors import ElmanError, InputError
from elman.registry import Registry

if TYPE_CHECKING:
    import torch


# A float32 model knows a probability to about seven digits. A token that lies exactly on the edge
# of a set must not fall on one side or the other because of the eighth.
ROUNDING = 1e-7


def refuse_broken(log_probs: torch.Tensor) -> None:
    """Raise if log probabilities contain NaN or plus infinity."""
    if not (log_probs < math.inf).all():
        raise ElmanError("the model predicted NaN or infinity as a probability; train it again")


def normalise(log_probs: torch.Tensor) -> torch.Tensor:
    """Renormalise rows (B, V) to sum to one; raise if every token of a row is impossible."""
    refuse_impossible(log_probs)
    return log_probs.log_softmax(dim=-1)


def refuse_impossible(log_probs: torch.Tensor) -> None:
    """Raise if a row (B, V) has invalid numbers, or if all its tokens are impossible."""
    if log_probs.amax(dim=-1).isfinite().all():  # one pass; NaN and both infinities show here
        return
    refuse_broken(log_probs)
    raise ElmanError(
        "no token is possible here: all have probability zero, as after a context that a count "
        "model without smoothing has never seen; ban fewer tokens, or train it with a smoother"
    )


def largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """True at exactly the `count` largest values of each row; ties go to the first. (B, V)"""
    count = min(count, values.shape[-1])
    smallest_kept = values.topk(count, dim=-1).values[..., -1:]  # (B, 1)
    above = values > smallest_kept
    equal = values == smallest_kept
    room = count - above.sum(dim=-1, keepdim=True)
    return above | (equal & (equal.cumsum(dim=-1) <= room))


def likeliest(log_probs: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` largest values of each row and their ids, sorted by id; ties go to the first.

    (N, V) -> two of (N, count). Like `largest`, but in one pass.
    """
    size = log_probs.shape[-1]
    values, ids = log_probs.topk(min(count + 1, size), dim=-1)
    if count < size:
        tied = (values[:, count] == values[:, count - 1]) & ~values[:, count].isneginf()
        ids = ids[:, :count].contiguous()
        if tied.any():
            ids[tied] = largest(log_probs[tied], count).nonzero()[:, 1].view(-1, count)
    ids = ids.sort(dim=-1).values
    return log_probs.gather(-1, ids), ids


@dataclass(kw_only=True, frozen=True)
class Transform:
    """Log probabilities (B, V) and one number in, log probabilities (B, V) that sum to one out.

    A token of probability zero (log probability -inf) stays impossible. This file does not import
    torch, so that `elman --help` stays fast; the methods of a tensor are enough.
    """

    option: str  # name in Python; the flag has hyphens instead of underscores
    about: str  # shown by `elman list` and, as a sentence, in the help of the flag
    apply: Callable[[torch.Tensor, Any], torch.Tensor]
    allows: Callable[[Any], bool]
    allowed: str  # the same in words
    kind: Any = float  # or int
    least: float | None = None  # the smallest and largest number of a form's field, if any
    most: float | None = None
    off: float | None = None  # with this number the transform is not applied
    excludes: str | None = None  # another transform that cannot be combined with this one

    @property
    def type(self) -> Any:
        """The type of the option: a number, or None if None means off."""
        return self.kind | None if self.off is None else self.kind

    def to_data(self, name: str) -> dict[str, Any]:
        """The description of a form field; `off` is the number that disables the transform."""
        return {
            "id": name,
            "option": self.option,
            "type": "integer" if self.kind is int else "number",
            "off": self.off,
            "least": self.least,
            "most": self.most,
            "about": self.about,
            "allowed": self.allowed,
            "excludes": self.excludes,
        }

    def check(self, number: Any) -> None:
        """Raise if the number is invalid."""
        if number != self.off and not self.allows(number):
            raise InputError(f"{self.option} is {number}; give {self.allowed}")


def temperature(log_probs: torch.Tensor, tau: float) -> torch.Tensor:
    """Temperature: Ackley, Hinton and Sejnowski (1985), equation 4.

    softmax(log P / tau): below 1 sharpens, above 1 flattens, near 0 is greedy.

    (B, V) -> (B, V)
    """
    log_probs = normalise(log_probs)
    gap = log_probs - log_probs.amax(dim=-1, keepdim=True)
    # The ends stay as they are: 0 / 0 and inf / inf, when tau leaves float32's range, are NaN.
    between = (gap < 0) & (gap > -math.inf)
    return normalise((gap / tau).where(between, gap))


TEMPERATURE = Transform(
    option="temperature",
    about="sample from softmax(log P / tau): below 1 sharper, above 1 flatter, 0 greedy",
    apply=temperature,
    allows=lambda tau: 0 <= tau < math.inf,
    allowed="0 (greedy), 1 (as the model says) or more",
    least=0,
    off=1.0,
)


def softmax_sampling(log_probs: torch.Tensor, alpha: float) -> torch.Tensor:
    """Softmax sampling, as taught in some lectures: a softmax of the probabilities.

    SM_alpha(P) = softmax(alpha * P), computed from probabilities instead of log probabilities.

    (B, V) -> (B, V). Temperature raises P to a power, so tau = 1 gives P back and ratios can
    become as large as you like. Here two tokens differ by a factor of at most exp(alpha), and no
    alpha gives P back: alpha = 0 is uniform, alpha = 1 still nearly so. Tokens of probability
    zero, which the bare formula would bring back with weight exp(0), stay out.
    """
    log_probs = normalise(log_probs)
    probs = log_probs.exp()
    gap = probs - probs.amax(dim=-1, keepdim=True)
    weights = (alpha * gap).where(gap < 0, gap)
    return normalise(weights.masked_fill(log_probs.isneginf(), -math.inf))


SOFTMAX_SAMPLING = Transform(
    option="softmax_alpha",
    about="sample from softmax(alpha * P), computed from probabilities; not a temperature",
    apply=softmax_sampling,
    allows=lambda alpha: 0 <= alpha < math.inf,
    allowed="0 or more",
    least=0,
    excludes="temperature",
)


def top_k(log_probs: torch.Tensor, k: int) -> torch.Tensor:
    """Top-k sampling: Fan, Lewis and Dauphin (2018), section 5.1.

    Keeps the k most probable tokens; ties go to the smaller id.

    (B, V) -> (B, V)
    """
    return normalise(log_probs.masked_fill(~largest(log_probs, k), -math.inf))


TOP_K = Transform(
    option="top_k",
    about="sample from the k most probable tokens",
    apply=top_k,
    allows=lambda k: k >= 1,
    allowed="1 or more",
    least=1,
    kind=int,
)


def top_p(log_probs: torch.Tensor, p: float) -> torch.Tensor:
    """Top-p or nucleus sampling: Holtzman et al. (2020), section 3.1.

    Keeps the smallest set of most probable tokens whose probabilities sum to p or more.

    (B, V) -> (B, V). Ties go to the smaller id; at least one token is kept.
    """
    log_probs = normalise(log_probs)
    if p >= 1:  # a sum that rounds to one too early must not cut off the tail
        return log_probs
    ranked, ids = log_probs.sort(dim=-1, descending=True, stable=True)
    probs = ranked.exp()
    likelier = probs.cumsum(dim=-1) - probs  # (B, V) mass of everything ranked before
    dropped = likelier >= p * (1 - ROUNDING)
    dropped[..., 0] = False
    dropped = dropped.new_zeros(dropped.shape).scatter(-1, ids, dropped)  # in the order of ids
    return normalise(log_probs.masked_fill(dropped, -math.inf))


TOP_P = Transform(
    option="top_p",
    about="sample from the smallest set of tokens with total probability p (nucleus)",
    apply=top_p,
    allows=lambda p: 0 < p <= 1,
    allowed="a number above 0 and up to 1",
    least=0,
    most=1,
)


def min_p(log_probs: torch.Tensor, fraction: float) -> torch.Tensor:
    """Min-p sampling: Nguyen et al. (2024), section 3.

    Keeps tokens whose probability is at least `fraction` times the highest one.

    (B, V) -> (B, V)
    """
    log_probs = normalise(log_probs)
    relative = (log_probs - log_probs.amax(dim=-1, keepdim=True)).exp()
    return normalise(log_probs.masked_fill(relative < fraction * (1 - ROUNDING), -math.inf))


MIN_P = Transform(
    option="min_p",
    about="sample from tokens with at least this fraction of the highest probability",
    apply=min_p,
    allows=lambda fraction: 0 <= fraction <= 1,
    allowed="a number from 0 to 1",
    least=0,
    most=1,
)


TRANSFORMS = Registry(
    "transform",  # no group: every command would have to read entry points, for its flags
    {
        "temperature": TEMPERATURE,
        "softmax-sampling": SOFTMAX_SAMPLING,
        "top-k": TOP_K,
        "top-p": TOP_P,
        "min-p": MIN_P,
    },
)
