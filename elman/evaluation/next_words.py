"""Which word comes next: the distribution over whole words, as far as a beam can spell it.

Takes a model, a tokenizer and the ids of a text; gives, before each word, the words that the beam
has found with their probabilities, and the probability of all others together. If every token is a
word, the distribution of the next token is exact, and nothing needs to be spelled.

    " th" → " the", " this", " th"…        p(word) = Π p(tokens) * p(boundary after) / p(boundary)

A word that can be spelled in several ways counts once, with the sum of their probabilities. The
entropy treats all words that were not found as one outcome, so it is a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from elman.evaluation.measures import BEAM
from elman.models.contract import LanguageModel
from elman.state import State, select
from elman.text.tokenizer import EOS, Tokenizer

_LONGEST = 40  # tokens of a word
_NEGLIGIBLE = 1e-4  # stop when all unfinished words together are less probable


@dataclass(frozen=True)
class NextWords:
    """The words that the beam has found, and what it has not."""

    probabilities: dict[str, float]  # by word; `<eos>`: the line ends
    remaining: float  # probability of all other words together
    bound: float  # no other word is more probable

    @property
    def entropy(self) -> float:
        """The entropy in nats, with the other words as one outcome: a lower bound."""
        shares = np.array([*self.probabilities.values(), self.remaining])
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum())

    def rank_of(self, word: str, probability: float) -> int | None:
        """The rank of a word, whose probability counts if the beam has not found it; None if
        another word that was not found may be ahead.
        """
        own = self.probabilities.get(word, probability)
        if own < self.bound:
            return None
        return 1 + sum(share > own for other, share in self.probabilities.items() if other != word)


@dataclass(frozen=True)
class WordPredictions:
    """What comes next before every word of a text."""

    before: list[NextWords]
    last: NextWords | None  # after the last word; None after a line end


@torch.inference_mode()
def predict_words(
    model: LanguageModel,
    tokenizer: Tokenizer,
    ids: np.ndarray,
    firsts: np.ndarray,
    reset: str,
    beam: int = BEAM,
) -> WordPredictions | None:
    """The next words before each word; `firsts`: the first token of each word, then len(ids).

    None if every token is a word: then the distribution of tokens says it all.
    """
    if tokenizer.begins_word is None:
        return None
    speller = Speller(model, tokenizer, beam)
    state, is_start = model.start(1), True
    before = []
    for first, last in pairwise(firsts.tolist()):
        before.append(speller.next_words(state, is_start))
        state = model.read(torch.from_numpy(ids[None, first:last]), state)
        is_start = bool(ids[last - 1] == tokenizer.eos_id)
        if is_start and reset == "line":
            state = model.start(1)
    return WordPredictions(before, None if is_start else speller.next_words(state, is_start))


@dataclass
class _Spelling:
    """Beginnings of words, one per row."""

    ids: list[tuple[int, ...]]
    log_probs: torch.Tensor  # (rows,)
    is_blank: torch.Tensor  # (rows,) only white space so far
    state: State


class Speller:
    """Spells the words that may come after a state."""

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer, beam: int = BEAM) -> None:
        begins = tokenizer.begins_word
        assert begins is not None  # else a token is a word
        self._model, self._tokenizer, self._beam = model, tokenizer, beam
        self._begins = torch.from_numpy(begins)
        blank = np.array([text.isspace() for text in tokenizer.token_texts()])
        blank[tokenizer.eos_id] = False
        self._blank = torch.from_numpy(blank)

    def next_words(self, state: State, is_start: bool) -> NextWords:
        """The words after a state of one row; is_start: at the start of a line."""
        first = self._model.predict(state)[0].double()  # (V,)
        boundary = 0.0 if is_start else float(first[self._begins].logsumexp(0))
        found: dict[str, float] = {}
        bound = 0.0
        live = _Spelling([()], torch.zeros(1, dtype=torch.float64), torch.tensor([True]), state)
        allowed = torch.ones_like(self._begins) if is_start else self._begins
        log_probs = torch.where(allowed, first - boundary, -torch.inf)[None]
        for _ in range(_LONGEST):
            self._end_line(live, log_probs, found)
            live, pruned = self._extend(live, log_probs)
            bound = max(bound, pruned)
            if not live.ids or float(live.log_probs.exp().sum()) < _NEGLIGIBLE:
                break
            log_probs = self._model.predict(live.state).double()  # (rows, V)
            self._end_words(live, log_probs, found)
        bound = max(bound, float(live.log_probs.max().exp()) if live.ids else 0.0)
        remaining = max(1 - math.fsum(found.values()), 0.0)
        return NextWords(found, remaining, bound)

    def _end_line(self, live: _Spelling, log_probs: torch.Tensor, found: dict[str, float]) -> None:
        """Count the line end, which may follow white space."""
        ends = live.log_probs + log_probs[:, self._tokenizer.eos_id]
        share = float(ends[live.is_blank].exp().sum())
        if share > 0:
            found[EOS] = found.get(EOS, 0.0) + share

    def _end_words(self, live: _Spelling, log_probs: torch.Tensor, found: dict[str, float]) -> None:
        """Count the beginnings as words, as far as a boundary follows."""
        ends = (live.log_probs + log_probs[:, self._begins].logsumexp(1)).exp().tolist()
        for spelled, share, blank in zip(live.ids, ends, live.is_blank.tolist(), strict=True):
            if not blank and share > 0:
                word = self._tokenizer.decode(spelled).strip()
                found[word] = found.get(word, 0.0) + share

    def _extend(self, live: _Spelling, log_probs: torch.Tensor) -> tuple[_Spelling, float]:
        """The most probable longer beginnings, and the probability of the best that was dropped."""
        may_follow = live.is_blank[:, None] | ~self._begins[None]
        scores = torch.where(may_follow, log_probs + live.log_probs[:, None], -torch.inf)
        scores[:, self._tokenizer.eos_id] = -torch.inf
        best, places = scores.view(-1).topk(min(self._beam + 1, scores.numel()))
        dropped = float(best[self._beam].exp()) if len(best) > self._beam else 0.0
        possible = best[: self._beam] > -torch.inf
        best, places = best[: self._beam][possible], places[: self._beam][possible]
        rows, numbers = places // log_probs.shape[1], places % log_probs.shape[1]
        if not len(best):
            return _Spelling([], best, live.is_blank[:0], live.state), dropped
        pairs = zip(rows.tolist(), numbers.tolist(), strict=True)
        longer = [(*live.ids[row], number) for row, number in pairs]
        state = self._model.read(numbers[:, None], select(live.state, rows))
        return _Spelling(longer, best, live.is_blank[rows] & self._blank[numbers], state), dropped
