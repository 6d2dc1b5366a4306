"""Ways to reshape the distribution of the next token before drawing from it.

Each takes log probabilities (B, V) and one number, and gives log probabilities (B, V) that sum to
one again. A token of probability zero (log probability -inf) stays impossible under all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from elman.errors import ElmanError

# A float32 model knows a probability to about seven digits. A token that lies exactly on the edge
# of a set must not fall on one side or the other because of the eighth.
ROUNDING = 1e-7


def refuse_broken(log_probs: torch.Tensor) -> None:
    """Raise when a model gives something that no distribution has: NaN, or plus infinity."""
    if not (log_probs < torch.inf).all():
        raise ElmanError("the model gave a probability that is no finite number; retrain it")


def normalise(log_probs: torch.Tensor) -> torch.Tensor:
    """The same proportions, summing to one; refuses a row where nothing is possible. (B, V)"""
    refuse_broken(log_probs)
    if torch.isneginf(log_probs).all(dim=-1).any():
        raise ElmanError(
            "no token can come next: all have probability zero; ban fewer or smooth the model"
        )
    return torch.log_softmax(log_probs, dim=-1)


def largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """True at the `count` largest values of each row, exactly; of equals, the first. (B, V)"""
    count = min(count, values.shape[-1])
    smallest_kept = values.topk(count, dim=-1).values[..., -1:]  # (B, 1)
    above = values > smallest_kept
    equal = values == smallest_kept
    room = count - above.sum(dim=-1, keepdim=True)
    return above | (equal & (equal.cumsum(dim=-1) <= room))


def temperature(log_probs: torch.Tensor, tau: float) -> torch.Tensor:
    """softmax(log P / tau): below 1 sharpens, above 1 flattens, near 0 only the likeliest is left.

    (B, V) -> (B, V). Ackley, Hinton and Sejnowski (1985), equation 4.
    """
    log_probs = normalise(log_probs)
    gap = log_probs - log_probs.amax(dim=-1, keepdim=True)
    # The ends stay as they are: 0 / 0 and inf / inf, when tau leaves float32's range, are NaN.
    between = (gap < 0) & (gap > -torch.inf)
    return normalise(torch.where(between, gap / tau, gap))


def softmax_sampling(log_probs: torch.Tensor, alpha: float) -> torch.Tensor:
    """SM_alpha(P) = softmax(alpha * P), taken of the probabilities and not of their logarithms.

    (B, V) -> (B, V). Temperature raises P to a power, so tau = 1 gives P back and ratios can
    become as large as you like. Here two tokens differ by a factor of at most exp(alpha), and no
    alpha gives P back: alpha = 0 is uniform, alpha = 1 still nearly so. Tokens of probability
    zero, which the bare formula would bring back with weight exp(0), stay out.
    """
    log_probs = normalise(log_probs)
    probs = log_probs.exp()
    gap = probs - probs.amax(dim=-1, keepdim=True)
    weights = torch.where(gap < 0, alpha * gap, gap)
    return normalise(weights.masked_fill(torch.isneginf(log_probs), -torch.inf))


def top_k(log_probs: torch.Tensor, k: int) -> torch.Tensor:
    """Only the k likeliest tokens; of equally likely ones, those with the smaller id.

    (B, V) -> (B, V). Fan, Lewis and Dauphin (2018), section 5.1.
    """
    return normalise(log_probs.masked_fill(~largest(log_probs, k), -torch.inf))


def top_p(log_probs: torch.Tensor, p: float) -> torch.Tensor:
    """Only the smallest set of likeliest tokens whose probabilities sum to p or more.

    (B, V) -> (B, V). Of equally likely tokens the smaller ids come first; one token always stays.
    Holtzman et al. (2020), section 3.1.
    """
    log_probs = normalise(log_probs)
    if p >= 1:  # a sum that rounds to one too early must not cut off the tail
        return log_probs
    ranked, ids = log_probs.sort(dim=-1, descending=True, stable=True)
    probs = ranked.exp()
    likelier = probs.cumsum(dim=-1) - probs  # (B, V) mass of everything ranked before
    dropped = likelier >= p * (1 - ROUNDING)
    dropped[..., 0] = False
    dropped = torch.zeros_like(dropped).scatter(-1, ids, dropped)  # back to the order of ids
    return normalise(log_probs.masked_fill(dropped, -torch.inf))


def min_p(log_probs: torch.Tensor, fraction: float) -> torch.Tensor:
    """Only tokens at least `fraction` times as likely as the likeliest one.

    (B, V) -> (B, V). Nguyen et al. (2024), section 3.
    """
    log_probs = normalise(log_probs)
    relative = (log_probs - log_probs.amax(dim=-1, keepdim=True)).exp()
    return normalise(log_probs.masked_fill(relative < fraction * (1 - ROUNDING), -torch.inf))


# In the order in which they are applied when several are asked for.
TRANSFORMS: dict[str, Callable[..., torch.Tensor]] = {
    "temperature": temperature,
    "softmax-sampling": softmax_sampling,
    "top-k": top_k,
    "top-p": top_p,
    "min-p": min_p,
}
