"""Turn the prediction of a model into the distribution of the next token, following the options.

The order: penalties, biases, bans and forced tokens change the log probabilities of the model; then
the transforms are applied. Each function takes log probabilities (B, V) and gives scores (B, V)
that need not sum to one. `counts` (B, V) is how often each row has generated each token, without
the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import TRANSFORMS, normalise
from elman.errors import ElmanError


def next_distribution(
    log_probs: torch.Tensor, options: DecodingOptions, written: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Log probabilities (B, V) for sampling the next token, given the tokens of each row.

    `written` holds B rows of ids, equally long: one token per row and step.
    """
    log_probs = allowed_distribution(log_probs, options, written)
    for name, number in options.transforms().items():
        log_probs = TRANSFORMS[name].apply(log_probs, number)
    return log_probs


def allowed_distribution(
    log_probs: torch.Tensor, options: DecodingOptions, written: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Log probabilities (B, V) after everything except the transforms."""
    log_probs = penalise(log_probs, options, written)
    log_probs = add_bias(log_probs, options.logit_bias)
    return normalise(constrain(log_probs, options, step=len(written[0])))


def penalise(
    log_probs: torch.Tensor, options: DecodingOptions, written: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Scores (B, V) after the penalties on the tokens that each row has generated."""
    if not options.penalises:
        return log_probs
    counts = count_tokens(written, log_probs.shape[-1])
    # Repetition first: it multiplies, and only an untouched log probability is never positive.
    scores = penalise_repetition(log_probs, counts, options.repetition_penalty)
    scores = penalise_frequency(scores, counts, options.frequency_penalty)
    return penalise_presence(scores, counts, options.presence_penalty)


def constrain(log_probs: torch.Tensor, options: DecodingOptions, step: int) -> torch.Tensor:
    """Scores (B, V) after bans and forced tokens.

    Banned ids are impossible; so are stop ids before `min_tokens` tokens. While tokens are forced,
    only the forced one is possible.
    """
    early = options.stop_ids if step < options.min_tokens else ()
    possible = ban(log_probs, (*options.banned, *early))
    return force(possible, options.forced, step)


def count_tokens(rows: Sequence[Sequence[int]], vocabulary_size: int) -> torch.Tensor:
    """How often each row contains each id, (B, V) from B rows of ids."""
    counts = [
        torch.bincount(torch.tensor(row, dtype=torch.long), minlength=vocabulary_size)
        for row in rows
    ]
    return torch.stack(counts)


def penalise_frequency(
    log_probs: torch.Tensor, counts: torch.Tensor, penalty: float
) -> torch.Tensor:
    """log P - penalty * count: frequent tokens become less likely.

    (B, V) -> (B, V). Like OpenAI's `frequency_penalty`; a negative penalty favours repetition.
    """
    return log_probs - penalty * counts


def penalise_presence(
    log_probs: torch.Tensor, counts: torch.Tensor, penalty: float
) -> torch.Tensor:
    """log P - penalty for every token that was generated, once or more.

    (B, V) -> (B, V). Like OpenAI's `presence_penalty`; a negative penalty favours repetition.
    """
    return log_probs - penalty * (counts > 0)


def penalise_repetition(
    log_probs: torch.Tensor, counts: torch.Tensor, penalty: float
) -> torch.Tensor:
    """log P * penalty for every generated token: its probability raised to that power.

    (B, V) -> (B, V). Keskar et al. (2019, CTRL), section 4.1, divide the logit, which helps a
    token whose logit is negative. A log probability is never positive, so multiplying it is a
    penalty for every token; 1 changes nothing.
    """
    return torch.where(counts > 0, log_probs * penalty, log_probs)


def add_bias(log_probs: torch.Tensor, biases: Sequence[tuple[int, float]]) -> torch.Tensor:
    """log P + bias for the given ids, like OpenAI's `logit_bias`. (B, V) -> (B, V)

    Impossible tokens stay impossible: minus infinity plus any bias.
    """
    if not biases:
        return log_probs
    ids = torch.tensor([number for number, _ in biases], device=log_probs.device)
    added = torch.tensor([bias for _, bias in biases], dtype=log_probs.dtype, device=ids.device)
    return log_probs.index_add(-1, ids, added.expand(*log_probs.shape[:-1], -1))


def ban(log_probs: torch.Tensor, ids: Sequence[int]) -> torch.Tensor:
    """Make the given ids impossible. (B, V) -> (B, V)"""
    if not ids:
        return log_probs
    banned = torch.tensor(list(ids), dtype=torch.long, device=log_probs.device)
    return log_probs.index_fill(-1, banned, -torch.inf)


def force(log_probs: torch.Tensor, ids: Sequence[int], step: int) -> torch.Tensor:
    """While ids are left to force, make all other ids impossible. (B, V) -> (B, V)

    The forced id keeps its own log probability, so that beam search can add it up.
    """
    if step >= len(ids):
        return log_probs
    forced = ids[step]
    kept = log_probs[..., forced : forced + 1]
    if torch.isneginf(kept).any():
        raise ElmanError(f"forced token {forced} has probability zero here; force another one")
    forced_only = torch.full_like(log_probs, -torch.inf)
    forced_only[..., forced : forced + 1] = kept
    return forced_only
