"""Tokenize typed text in the style of a tokenized corpus.

    typed            He didn't see the house, but John's dog did.
    Penn Treebank    he did n't see the house but john 's dog did
    WikiText         He didn 't see the house , but John 's dog did .

Takes the words of a corpus, most frequent first, and learns from them which marks are separate
tokens, which clitics exist, and whether there are capitals and digits. Gives the tokens of a typed
text with their positions. Called by `words.py`, which has the reverse (`Line`), and by the tasks
over words.

A mark that the corpus never writes as a token (Mikolov's Penn Treebank has no commas) is dropped
where it is attached to a word. Text that is already tokenized stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from elman.text.letters import CLAUSE_MARKS, COMBINING, is_letter
from elman.text.tokenizer import UNKNOWN

_APOSTROPHES = "'’"
_MOST_ATTACHED = 0.03  # share of words with a mark: 2 % in the Penn Treebank, 20 % in raw text
_FEW = 3  # words with a mark that a small corpus may have: abbreviations
_SENTENCE_MARKS = (*CLAUSE_MARKS, *'"()', "``", "''")
_INNER_MARK = rf"(?<=[\w{COMBINING}])[^\w\s{COMBINING}](?=\w)"
_CUTS = re.compile(rf"{_INNER_MARK}|(?<=\w\.)[-/](?=\w)")
_NUMBER = re.compile(r"\d[\d.,/:-]*")
_CHUNK = re.compile(rf"{UNKNOWN}|(?:(?!{UNKNOWN})\S)+")
_REMEMBERED = 1 << 18  # chunks of text whose tokens are cached
# Alternative spellings of a mark in treebanks, at the beginning and at the end of a word.
_OTHER_NAMES = {
    '"': (("``", "''"), ("“", "”")),
    "(": (("-lrb-", "-lrb-"), ("-LRB-", "-LRB-")),
    ")": (("-rrb-", "-rrb-"), ("-RRB-", "-RRB-")),
    "[": (("-lsb-", "-lsb-"), ("-LSB-", "-LSB-")),
    "]": (("-rsb-", "-rsb-"), ("-RSB-", "-RSB-")),
}


class Piece(NamedTuple):
    """A token and its position in the typed text."""

    token: str
    start: int
    end: int


class CorpusForm:
    """The conventions of one corpus."""

    def __init__(
        self,
        words: Sequence[str],
        normalise: Callable[[str], str] = lambda word: word,
        *,
        keeps_marks: bool = False,
    ) -> None:
        """`words`: most frequent first; `normalise`: how a word is looked up among them.

        `keeps_marks`: no mark is dropped, even if the corpus does not have it.
        """
        self._ranks = {word: rank for rank, word in reversed([*enumerate(words)])}
        self._normalise = normalise
        self._keeps_marks = keeps_marks
        self._remembered: dict[str, tuple[Piece, ...]] = {}

    # Learned from the words -----------------------------------------------------------------------

    @cached_property
    def _ending(self) -> Counter[str]:
        """For each mark, the number of words that end with it."""
        return Counter(word[-1] for word in self._ranks if _is_marked_word(word))

    @cached_property
    def _beginning(self) -> Counter[str]:
        return Counter(word[0] for word in self._ranks if _is_marked_word(word))

    @cached_property
    def _inside(self) -> dict[str, float]:
        """For each mark, how often it is between letters, from word ranks by Zipf's law."""
        weights: dict[str, float] = {}
        for word, rank in self._ranks.items():
            for mark in {*re.findall(_INNER_MARK, word)}:
                weights[mark] = weights.get(mark, 0.0) + 1 / (rank + 3)
        return weights

    @cached_property
    def is_lowercase(self) -> bool:
        """Whether the corpus has no capitals, apart from symbols such as N for a number."""
        if self._normalise("A") == "a":
            return False  # words are looked up without their case, and keep it
        capitals = sum(len(word) > 1 and any(map(str.isupper, word)) for word in self._ranks)
        return capitals <= 0.001 * len(self._ranks)

    @cached_property
    def _has_numbers(self) -> bool:
        return any(_NUMBER.fullmatch(word) for word in self._ranks)

    # Looking up -----------------------------------------------------------------------------------

    def knows(self, word: str) -> bool:
        """Whether a typed word is a word of the corpus."""
        return word == UNKNOWN or self._normalise(self._cased(word)) in self._ranks

    def _rank(self, word: str) -> int:
        return self._ranks.get(self._normalise(self._cased(word)), len(self._ranks))

    def _cased(self, word: str) -> str:
        return word.lower() if self.is_lowercase and word not in self._ranks else word

    def _token(self, word: str) -> str:
        """A typed word in the spelling of the corpus."""
        if self.knows(word) or not any(map(str.isdigit, word)):
            return self._cased(word)
        # The Penn Treebank writes N for every number.
        is_number = "N" in self._ranks and not self._has_numbers and _NUMBER.fullmatch(word)
        return "N" if is_number else self._cased(word)

    def _mark_token(self, mark: str, at_end: bool) -> str | None:
        """A mark as the corpus writes it when it is a token of its own; None if it never is."""
        if self.knows(mark):
            return mark
        for names in _OTHER_NAMES.get(mark, ()):
            if names[at_end] in self._ranks:
                return names[at_end]
        return None

    def _is_attached(self, mark: str, counts: Counter[str]) -> bool:
        """Whether this corpus attaches a mark to words, as raw text does."""
        if self.knows(mark):
            # By Zipf's law: compare a rare separate mark with words of the same rank.
            return counts[mark] / (len(self._ranks) + 3) > 1 / (self._rank(mark) + 3)
        return counts[mark] > max(_MOST_ATTACHED * len(self._ranks), _FEW)

    # Splitting text -------------------------------------------------------------------------------

    def split(self, text: str) -> list[str]:
        """The tokens of a typed text, without its line ends."""
        return [piece.token for line in text.split("\n") for piece in self.pieces(line)]

    def pieces(self, line: str) -> list[Piece]:
        """The tokens of a typed line and their positions."""
        chunks = [*_CHUNK.finditer(line)]
        if self._is_tokenized([chunk.group() for chunk in chunks]):
            return [Piece(self._cased(chunk.group()), *chunk.span()) for chunk in chunks]
        found = []
        for number, chunk in enumerate(chunks):
            start = chunk.start()
            for token, first, last in self._chunk(chunk.group(), number == len(chunks) - 1):
                found.append(Piece(token, start + first, start + last))
        return found

    def _is_tokenized(self, chunks: Iterable[str]) -> bool:
        """Whether the marks of a line are already separated from its words."""
        alone = False
        for chunk in chunks:
            if chunk in _SENTENCE_MARKS:
                alone = True
            elif not (is_letter(chunk[-1]) and is_letter(chunk[0])) and not self.knows(chunk):
                return False
        return alone

    def _chunk(self, chunk: str, is_last: bool) -> tuple[Piece, ...]:
        key = f"{chunk} " if is_last else chunk
        if key not in self._remembered:
            if len(self._remembered) > _REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = tuple(self._take_apart(chunk, is_last))
        return self._remembered[key]

    def _take_apart(self, chunk: str, is_last: bool) -> list[Piece]:
        """Split off the marks at both ends, then split the word between them."""
        if self._is_whole(chunk, is_last):
            return [Piece(self._token(chunk), 0, len(chunk))]
        first, last = 0, len(chunk)
        before: list[Piece] = []
        after: list[Piece] = []
        while first < last - 1 and self._goes_off(chunk[first], self._beginning):
            if first and self._is_whole(chunk[first:last], is_last=False):
                break
            before += self._mark(chunk[first], first, at_end=False)
            first += 1
        while last - 1 > first and self._goes_off(chunk[last - 1], self._ending):
            length = self._run(chunk, first, last)
            if last < len(chunk) and self._is_whole(chunk[first:last], is_last=False):
                break
            after = self._mark(chunk[last - length : last], last - length, at_end=True) + after
            last -= length
        return [*before, *self._word(chunk, first, last), *after]

    def _is_whole(self, chunk: str, is_last: bool) -> bool:
        """Whether a chunk is one word of the corpus, rather than a word with a mark attached.

        `house,` may be an accident of the training text. `no.` is an abbreviation, but at the end
        of a line it is more likely a word and a full stop.
        """
        if not self.knows(chunk):
            return _is_mark(chunk) and len({*chunk}) == 1
        core = chunk.rstrip(CLAUSE_MARKS)
        if core in (chunk, "") or (chunk[-1] == "." and not is_last):
            return True
        return self._rank(core) >= self._rank(chunk)

    def _goes_off(self, character: str, attached: Counter[str]) -> bool:
        """Whether a mark at the edge of a word is not part of it."""
        return not is_letter(character) and not self._is_attached(character, attached)

    def _run(self, chunk: str, first: int, last: int) -> int:
        """The number of equal marks at the end that form one token, like `...`."""
        mark = chunk[last - 1]
        equal = len(chunk[first:last]) - len(chunk[first:last].rstrip(mark))
        return equal if equal > 1 and self.knows(mark * equal) else 1

    def _mark(self, mark: str, start: int, at_end: bool) -> list[Piece]:
        token = self._mark_token(mark, at_end)
        if token is None and self._keeps_marks:
            token = mark
        return [] if token is None else [Piece(token, start, start + len(mark))]

    def _word(self, chunk: str, first: int, last: int) -> list[Piece]:
        """Split a word without outer marks: a known word, a word with a clitic, or parts."""
        word = chunk[first:last]
        if not self.knows(word):
            for cut in self._clitics(word):
                left, right = word[:cut], word[cut:]
                if self.knows(right) or (self.knows(left) and left[-1] in _APOSTROPHES):
                    middle = first + cut
                    return [*self._word(chunk, first, middle), *self._word(chunk, middle, last)]
            for match in _CUTS.finditer(word):
                if token := self._inner_mark(match.group(), word, match.start()):
                    start, end = first + match.start(), first + match.end()
                    mark = Piece(token, start, end)
                    return [*self._word(chunk, first, start), mark, *self._word(chunk, end, last)]
        return [Piece(self._token(word), first, last)]

    def _clitics(self, word: str) -> list[int]:
        """The places where a word may be split at an apostrophe: did|n't, John|'s, l'|ami."""
        places = [place for place, mark in enumerate(word) if mark in _APOSTROPHES]
        cuts = [cut for place in places for cut in (place - 1, place, place + 1)]
        return [cut for cut in cuts if 0 < cut < len(word) and _is_clitic_cut(word, cut)]

    def _inner_mark(self, mark: str, word: str, place: int) -> str | None:
        """A mark between letters or digits as a separate token, if the corpus writes it so."""
        if f"@{mark}@" in self._ranks:  # WikiText: well @-@ known, 3 @.@ 5
            between_digits = word[place - 1].isdigit() and word[place + 1].isdigit()
            return f"@{mark}@" if mark == "-" or between_digits else None
        if mark in ".,:" or mark in _APOSTROPHES or not self.knows(mark):
            return None
        return mark if 1 / (self._rank(mark) + 3) > self._inside.get(mark, 0.0) else None


def _is_clitic_cut(word: str, cut: int) -> bool:
    """Positions before an apostrophe, after one, or before the n of n't."""
    if word[cut] in _APOSTROPHES or word[cut - 1] in _APOSTROPHES:
        return True
    return word[cut].lower() == "n" and word[cut + 1 : cut + 2] in (*_APOSTROPHES,)


def _is_mark(word: str) -> bool:
    """Whether a word has neither letters nor digits."""
    return not any(map(is_letter, word))


def _is_marked_word(word: str) -> bool:
    """Whether a word has letters or digits and is not a corpus symbol such as <unk> or @-@."""
    return not _is_mark(word) and not (word[0] in "<-" and word[-1] in ">-")
