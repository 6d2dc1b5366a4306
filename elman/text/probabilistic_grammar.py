"""A probabilistic grammar whose true next-word distribution is known exactly.

The grammar is context-free, and the next word alone tells which rule applies (LL(1)). A prefix
therefore has exactly one stack of pending symbols, the next-word distribution is read off that
stack, and the entropy of a sentence is the entropy of its derivation: one linear system.

    read so far     pending, the next symbol first
                    SENTENCE
    boy             RELATIVE VERB_PHRASE .
    boy who         CLAUSE VERB_PHRASE .
    boy who walks   VERB_PHRASE .
"""

import math
import random
from collections import Counter
from itertools import accumulate
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

END = "<eos>"  # the token at the end of each line
EMPTY = ""  # among the first words of a symbol: the symbol may also be empty
Symbols = tuple[str, ...]
Rules = dict[str, list[tuple[float, Symbols]]]  # symbol -> alternatives (probability, symbols)
WordSets = dict[str, set[str]]


def check_one_word_decides(rules: Rules, start: str) -> None:
    """The LL(1) condition: no word can begin two alternatives of one symbol.

    An alternative that may be empty is also chosen by every word that may follow the symbol.
    """
    first = _first_words(rules)
    following = _following_words(rules, start, first)
    for symbol, alternatives in rules.items():
        announcing: Counter[str] = Counter()
        for _, symbols in alternatives:
            words = _first_of(symbols, first)
            announcing.update(words | following[symbol] if EMPTY in words else words)
        doubtful = sorted(word for word, count in announcing.items() if count > 1)
        if doubtful:
            raise ValueError(f"ambiguous: {doubtful} can begin two alternatives of {symbol!r}")


def _first_of(symbols: Symbols, first: WordSets) -> set[str]:
    """The words a sequence of symbols can begin with, and `EMPTY` if it can be empty."""
    words: set[str] = set()
    for symbol in symbols:
        opening = first.get(symbol, {symbol})
        words |= opening - {EMPTY}
        if EMPTY not in opening:
            return words
    return words | {EMPTY}


def _first_words(rules: Rules) -> WordSets:
    """The words each symbol can begin with: grown from nothing until no rule adds any."""
    first: WordSets = {symbol: set() for symbol in rules}
    while True:
        grown: WordSets = {
            symbol: set().union(*(_first_of(symbols, first) for _, symbols in alternatives))
            for symbol, alternatives in rules.items()
        }
        if grown == first:
            return first
        first = grown


def _following_words(rules: Rules, start: str, first: WordSets) -> WordSets:
    """The words that can come right after each symbol, grown in the same way."""
    following: WordSets = {symbol: set() for symbol in rules}
    following[start] = {END}
    growing = True
    while growing:
        size = sum(map(len, following.values()))
        for symbol, alternatives in rules.items():
            for _, symbols in alternatives:
                for position, inner in enumerate(symbols):
                    if inner in rules:
                        words = _first_of(symbols[position + 1 :], first)
                        inherited = following[symbol] if EMPTY in words else set()
                        following[inner] |= (words - {EMPTY}) | inherited
        growing = sum(map(len, following.values())) > size
    return following


class Opening(NamedTuple):
    """One way a symbol can begin: its probability, and the symbols pending after its word."""

    probability: float
    rest: Symbols


class Grammar:
    """A probabilistic grammar in which one word of look-ahead decides every choice.

    `rules` maps a symbol to its alternatives (probability, symbols). A symbol without rules is a
    word; an alternative without symbols is empty. Raises a ValueError if the probabilities of a
    symbol do not sum to one, if one word cannot decide, or if sentences may grow without end.
    """

    def __init__(self, rules: Rules, start: str = "SENTENCE") -> None:
        _check_probabilities(rules, start)
        _check_finite(rules)
        check_one_word_decides(rules, start)
        self.rules = rules
        self._start = start
        self._openings: dict[str, dict[str, Opening]] = {}
        self._vanishing: dict[str, float] = {}  # probability that a symbol is empty
        for symbol in _all_symbols(rules):
            self._prepare(symbol)

    def _prepare(self, symbol: str) -> None:
        """Fill the tables of one symbol; this ends because LL(1) excludes left recursion."""
        if symbol in self._openings:
            return
        if symbol not in self.rules:
            self._openings[symbol], self._vanishing[symbol] = {symbol: Opening(1.0, ())}, 0.0
            return
        openings: dict[str, Opening] = {}
        vanishing = 0.0
        for reached, symbols in self.rules[symbol]:
            for position, inner in enumerate(symbols):
                self._prepare(inner)
                for word, (probability, rest) in self._openings[inner].items():
                    openings[word] = Opening(reached * probability, rest + symbols[position + 1 :])
                reached *= self._vanishing[inner]
                if not reached:
                    break
            vanishing += reached
        self._openings[symbol], self._vanishing[symbol] = openings, vanishing

    def start(self) -> Symbols:
        """The stack before the first word; the leftmost symbol comes next."""
        return (self._start,)

    def next_words(self, stack: Symbols) -> dict[str, float]:
        """The exact next-word distribution; `END` gets the rest if all symbols may be empty."""
        words: dict[str, float] = {}
        reached = 1.0
        for symbol in stack:
            for word, opening in self._openings[symbol].items():
                words[word] = reached * opening.probability
            reached *= self._vanishing[symbol]
            if not reached:
                return words
        return words | {END: reached}

    def probability(self, stack: Symbols, word: str) -> float:
        """The probability of one word: as in `next_words`, without listing the others."""
        taker = self.taker(stack, word)
        reached = math.prod(self._vanishing[symbol] for symbol in stack[:taker])
        if taker == len(stack):
            return reached
        return reached * self._openings[stack[taker]][word].probability

    def advance(self, stack: Symbols, word: str) -> Symbols:
        """The stack after one more word; `END` begins the next sentence."""
        taker = self.taker(stack, word)
        if taker == len(stack):
            return self.start()
        return self._openings[stack[taker]][word].rest + stack[taker + 1 :]

    def taker(self, stack: Symbols, word: str) -> int:
        """The pending symbol that produces the word; the symbols before it are empty."""
        for position, symbol in enumerate(stack):
            if word in self._openings[symbol]:
                return position
            if not self._vanishing[symbol]:
                break
        else:
            if word == END:
                return len(stack)
        possible = ", ".join(sorted(self.next_words(stack)))
        raise ValueError(f"{word!r} cannot come next; possible: {possible}")

    def sample(self, sentences: int, seed: int) -> list[list[str]]:
        """Sentences drawn rule by rule; the same seed gives the same sentences."""
        generator = random.Random(seed)
        choices = {
            symbol: ([s for _, s in alternatives], list(accumulate(p for p, _ in alternatives)))
            for symbol, alternatives in self.rules.items()
        }
        drawn: list[list[str]] = []
        for _ in range(sentences):
            words: list[str] = []
            pending = [self._start]  # the next symbol is at the end of this list: popping is cheap
            while pending:
                symbol = pending.pop()
                if symbol in choices:
                    options, cumulative = choices[symbol]
                    pending.extend(reversed(generator.choices(options, cum_weights=cumulative)[0]))
                else:
                    words.append(symbol)
            drawn.append(words)
        return drawn

    def log_probs(self, words: list[str]) -> list[float]:
        """Natural-log probability of each word of one sentence, then of `END`."""
        stack, log_probs = self.start(), []
        for word in [*words, END]:
            log_probs.append(math.log(self.probability(stack, word)))
            stack = self.advance(stack, word)
        return log_probs

    def sentence_entropy(self) -> float:
        """Entropy of one sentence in nats, which equals that of its (unique) derivation."""
        return self._expected_sum(
            {s: -sum(p * math.log(p) for p, _ in rules) for s, rules in self.rules.items()}
        )

    def mean_length(self) -> float:
        """Expected tokens per sentence: its words and the end-of-line token."""
        words = {
            symbol: sum(p * sum(s not in self.rules for s in symbols) for p, symbols in rules)
            for symbol, rules in self.rules.items()
        }
        return self._expected_sum(words) + 1

    def entropy_rate(self) -> float:
        """Nats per token of a text, one sentence per line, end-of-line tokens counted."""
        return self.sentence_entropy() / self.mean_length()

    def perplexity_limit(self) -> float:
        """The perplexity of the grammar itself: the lowest that any model can reach on average."""
        return math.exp(self.entropy_rate())

    def _expected_sum(self, amounts: dict[str, float]) -> float:
        """Expected total over a derivation when each use of a symbol adds its amount."""
        offspring = _mean_offspring(self.rules)
        local = numpy.array([amounts[symbol] for symbol in self.rules])
        totals = numpy.linalg.solve(numpy.eye(len(local)) - offspring, local)
        return float(totals[list(self.rules).index(self._start)])


def _check_probabilities(rules: Rules, start: str) -> None:
    if start not in rules:
        raise ValueError(f"the start symbol {start!r} has no rules")
    for symbol, alternatives in rules.items():
        probabilities = [probability for probability, _ in alternatives]
        if min(probabilities, default=0.0) <= 0.0:
            raise ValueError(f"{symbol!r} needs alternatives, each with a probability above zero")
        if not math.isclose(math.fsum(probabilities), 1.0, abs_tol=1e-9):
            raise ValueError(f"probabilities of {symbol!r} sum to {math.fsum(probabilities)}")
    reserved = {END, EMPTY} & _all_symbols(rules)
    if reserved:
        raise ValueError(f"reserved, not usable in rules: {sorted(reserved)}")


def _all_symbols(rules: Rules) -> set[str]:
    said = (symbols for alternatives in rules.values() for _, symbols in alternatives)
    return set(rules).union(*said)


def _mean_offspring(rules: Rules) -> NDArray[numpy.float64]:
    """Row X, column Y: how many Y one X is rewritten into, on average."""
    index = {symbol: row for row, symbol in enumerate(rules)}
    offspring = numpy.zeros((len(rules), len(rules)))
    for symbol, alternatives in rules.items():
        for probability, symbols in alternatives:
            for inner in symbols:
                if inner in rules:
                    offspring[index[symbol], index[inner]] += probability
    return offspring


def _check_finite(rules: Rules) -> None:
    """Sentences are finite on average when every generation of symbols is smaller than the last."""
    radius = max(abs(numpy.linalg.eigvals(_mean_offspring(rules))))
    if radius >= 1.0 - 1e-9:
        raise ValueError(f"sentences grow without end: each symbol yields {radius:.3f} more")
