"""Tests of a model on the built-in grammar: states of the grammar, and number agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from elman.models.contract import LanguageModel
from elman.text.grammar import NUMBERS, agreement_points, elman_grammar, verbs
from elman.text.probabilistic_grammar import END, Grammar, Symbols
from elman.text.tokenizer import Tokenizer

LOST = -1  # after an impossible word, until the end of the sentence
_UNKNOWN = -2


class GrammarWalk:
    """The built-in grammar over arrays of ids: the state of each row, and the possible next ids.

    Gives the number of the state before each id and, for these numbers, the exact distributions of
    the next id. States are numbered in the order of their first use; 0 is the start of a sentence.
    Transitions are cached, so a long text costs a few array operations per step.
    """

    def __init__(self, tokenizer: Tokenizer, grammar: Grammar | None = None) -> None:
        self._grammar = grammar or elman_grammar()
        self._eos_id = tokenizer.eos_id
        words = {
            word
            for alternatives in self._grammar.rules.values()
            for _, s in alternatives
            for word in s
        }
        words -= self._grammar.rules.keys()
        self._ids = {word: int(tokenizer.encode(word)[0]) for word in words}
        self._ids[END] = self._eos_id
        self._words = {token: word for word, token in self._ids.items()}
        self._size = len(tokenizer)
        self._stacks: list[Symbols] = []
        self._numbers: dict[Symbols, int] = {}
        self._rows: list[np.ndarray] = []
        self._next: list[np.ndarray] = []
        self._number(self._grammar.start())

    def _number(self, stack: Symbols) -> int:
        if stack not in self._numbers:
            self._numbers[stack] = len(self._stacks)
            self._stacks.append(stack)
            row = np.zeros(self._size)
            for word, probability in self._grammar.next_words(stack).items():
                row[self._ids[word]] = probability
            self._rows.append(row)
            self._next.append(np.where(row > 0, _UNKNOWN, LOST))
        return self._numbers[stack]

    def distributions(self) -> np.ndarray:
        """The true distribution of the next id in every known state, (states, V)."""
        return np.stack(self._rows)

    def states(self, ids: np.ndarray) -> np.ndarray:
        """The state before each id and after the last, (B, T + 1); `LOST` after an impossible one.

        Every row begins a sentence; `<eos>` begins the next.
        """
        found = np.zeros((len(ids), ids.shape[1] + 1), dtype=np.int64)
        for t in range(ids.shape[1]):
            found[:, t + 1] = self.advance(found[:, t], ids[:, t])
        return found

    def advance(self, states: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The state of each row after one more id, (B,)."""
        after = np.full(len(states), LOST)
        known = states != LOST
        pairs, places = np.unique(
            np.stack([states[known], ids[known]]), axis=1, return_inverse=True
        )
        successors = [self._successor(int(state), int(token)) for state, token in pairs.T]
        after[known] = np.array(successors, dtype=np.int64)[places.reshape(-1)]
        return np.where(ids == self._eos_id, 0, after)

    def _successor(self, state: int, token: int) -> int:
        if self._next[state][token] == _UNKNOWN:
            stack = self._grammar.advance(self._stacks[state], self._words[token])
            self._next[state][token] = self._number(stack)
        return int(self._next[state][token])


@dataclass(frozen=True)
class DistanceScore:
    """Results on verbs at one distance from their nouns."""

    distance: int  # words between the two
    right: int
    verbs: int

    @property
    def accuracy(self) -> float:
        return self.right / self.verbs


def agreement_by_distance(
    model: LanguageModel, tokenizer: Tokenizer, sentences: Sequence[str], farthest: int = 10
) -> list[DistanceScore]:
    """Subject–verb agreement: how often a model finds verbs of the right number more probable than
    verbs of the wrong number, by the distance between noun and verb.

        boys who Mary chases …     walk, walks?      the noun is three words away

    Sentences come from the built-in grammar; `farthest` includes all larger distances.
    """
    forms = {number: tokenizer.encode(" ".join(sorted(verbs(number)))) for number in NUMBERS}
    right: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for sentence in sentences:
        points = agreement_points(sentence.split())
        log_probs = _distributions(model, tokenizer.encode(sentence))
        for point in points:
            mass = {
                number: float(np.logaddexp.reduce(log_probs[point.verb, ids]))
                for number, ids in forms.items()
            }
            wrong = next(number for number in NUMBERS if number != point.number)
            distance = min(point.distance, farthest)
            total[distance] += 1
            right[distance] += mass[point.number] > mass[wrong]
    return [DistanceScore(d, right[d], total[d]) for d in sorted(total)]


def _distributions(model: LanguageModel, ids: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        log_probs, _ = model.predict_all(torch.from_numpy(ids)[None], model.start(1))
    return log_probs[0].double().numpy()
