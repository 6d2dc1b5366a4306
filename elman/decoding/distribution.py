"""From what the model predicts to what the next token is drawn from, as the options say.

The order: penalties, biases, bans and forced tokens on the model's own log probabilities, then the
transforms on what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from elman.decoding import penalties
from elman.decoding.options import DecodingOptions
from elman.decoding.probabilities import normalise
from elman.decoding.transforms import TRANSFORMS


def next_distribution(
    log_probs: torch.Tensor, options: DecodingOptions, written: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Log probabilities (B, V) that the next token is drawn from, given what each row wrote.

    `written` holds B rows of ids, equally long: one token per row and step.
    """
    log_probs = penalise(log_probs, options, written)
    log_probs = penalties.add_bias(log_probs, options.logit_bias)
    log_probs = normalise(constrain(log_probs, options, step=len(written[0])))
    for name, number in options.transforms().items():
        log_probs = TRANSFORMS[name].apply(log_probs, number)
    return log_probs


def penalise(
    log_probs: torch.Tensor, options: DecodingOptions, written: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Scores (B, V) after the penalties on what each row has written so far."""
    if not options.penalises:
        return log_probs
    counts = penalties.count_tokens(written, log_probs.shape[-1])
    # Repetition first: it multiplies, and only an untouched log probability is never positive.
    scores = penalties.penalise_repetition(log_probs, counts, options.repetition_penalty)
    scores = penalties.penalise_frequency(scores, counts, options.frequency_penalty)
    return penalties.penalise_presence(scores, counts, options.presence_penalty)


def constrain(log_probs: torch.Tensor, options: DecodingOptions, step: int) -> torch.Tensor:
    """Scores (B, V) with banned ids impossible, stop ids too before the least number of tokens, and
    only the forced one left while there is one.
    """
    early = options.stop_ids if step < options.min_tokens else ()
    possible = penalties.ban(log_probs, (*options.banned, *early))
    return penalties.force(possible, options.forced, step)
