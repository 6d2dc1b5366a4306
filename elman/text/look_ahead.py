"""Whether one word of look-ahead decides every choice of a grammar: the LL(1) condition.

A grammar that meets it is unambiguous and can be read from left to right without ever guessing.
"""

from collections import Counter

END = "<eos>"  # the token at the end of each line
EMPTY = ""  # among the words that can come first: the symbol may also stand for nothing
Symbols = tuple[str, ...]
Rules = dict[str, list[tuple[float, Symbols]]]  # symbol -> alternatives (probability, symbols)
WordSets = dict[str, set[str]]


def check_one_word_decides(rules: Rules, start: str) -> None:
    """The LL(1) condition: no word can begin two alternatives of one symbol.

    An alternative that may be empty is also announced by every word that may follow the symbol.
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
