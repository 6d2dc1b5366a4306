"""Where words begin and end: the probability of a whole word from those of its tokens.

If the space before a word is part of its first token, then the end of a word is part of the next
one. The product of its tokens is the probability of a *beginning*: `the` also counts `theatre` and
`there`, and the words of a language sum to more than one. The probability of the word itself
(Pimentel and Meister 2024, Oh and Schuler 2024):

    p(word | context) = Π p(tokens) * p(boundary after) / p(boundary before)

A boundary is a token that begins a new word, or `<eos>`. The first word of a line has a boundary
before it with probability one. Where a new word does not begin with such a token, for example after
a no-break space in bytes, neither word is corrected there. Factors cancel within a line: the words
of a whole line have the same sum with and without the correction.
"""

from __future__ import annotations

import numpy as np
import torch

from elman.evaluation.measures import Progress, Reading, silent
from elman.evaluation.scoring import each_spread, each_token
from elman.models.contract import LanguageModel
from elman.state import State
from elman.text.tokenizer import Tokenizer


class TokenColumns:
    """Numbers for every token of a text, in nats; without entropy, some models are faster."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        ids: np.ndarray,
        reading: Reading,
        *,
        entropy: bool,
        progress: Progress = silent,
    ) -> None:
        begins = tokenizer.begins_word
        # The boundary after the last word is that before the line end, even if there is none.
        ended = begins is None or ids[-1] == tokenizer.eos_id
        every = ids if ended else np.append(ids, tokenizer.eos_id)
        members = None if begins is None else torch.from_numpy(begins)
        found = _measure(model, every, members, tokenizer.eos_id, reading, entropy, progress)
        count = len(ids)
        self.log_probs = found[:count, 0]
        self.entropies = found[:count, 2] if entropy else None
        self.ranks = found[:count, 3] if entropy else None
        self.boundaries = np.zeros(count + 1)  # log p of a boundary, before each token and at last
        if begins is not None:
            at_start = np.concatenate([[True], ids == tokenizer.eos_id])
            corrected = ~at_start[: len(every)] & begins[every]
            self.boundaries[: len(every)][corrected] = found[corrected, 1]

    def corrections(self, firsts: np.ndarray, lasts: np.ndarray) -> np.ndarray:
        """What words add to the sum over their tokens, firsts to lasts - 1."""
        before, after = self.boundaries[firsts], self.boundaries[lasts]
        with np.errstate(invalid="ignore"):
            # Before an impossible boundary, the first token is impossible, too.
            return np.where(np.isneginf(before), 0.0, before - after)


def corrected(surprisals: np.ndarray, corrections: np.ndarray) -> np.ndarray:
    """Surprisals of whole words; rounding can give a certain word a tiny negative number."""
    return np.maximum(surprisals + corrections, 0.0)


def _measure(
    model: LanguageModel,
    ids: np.ndarray,
    members: torch.Tensor | None,
    eos_id: int,
    reading: Reading,
    entropy: bool,
    progress: Progress,
) -> np.ndarray:
    """Log probability, log p of a boundary before; with entropy, also entropy and rank: (N, K)."""
    if entropy:
        return each_spread(model, ids, eos_id, reading, progress, members)

    def measure(batch: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        if members is None:
            scores, state = model.score(batch, state)
            return scores.double()[:, :, None], state
        scores, masses, state = model.score_and_mass(batch, state, members)
        return torch.stack([scores.double(), masses.double()], dim=2), state

    return each_token(model, ids, measure, eos_id, reading, progress)
