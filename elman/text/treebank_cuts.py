"""Split raw text into words as a treebank does; the rules are learned from its sentences.

    chunk        words                     learned as
    area.        area .                    shapes     a.$   cut before the last mark
    15-year      15 - year                 shapes     0-a   two cuts
    John's       John 's                   suffixes   's
    l'homme      l' homme                  prefixes   l'
    don't        do n't                    suffixes   n't
    Mr.          Mr.                       tokens     a word that ends with a mark
    du           de le                     chunks     words that are not in the text

Takes chunks (text between white space) with their words, as CoNLL-U has them in SpaceAfter=No and
multiword tokens. Keeps counts: how often a place was cut and how often not. The most specific
count decides: known tokens and chunks, affixes of a few letters, the shape of the chunk, the marks
on both sides. Called by tagging. `corpus_form.py` is for text without this information.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

from elman.data_checks import section, texts, wholes

Chunk = tuple[str, tuple[str, ...]]  # text without white space, and its words
_LONGEST_AFFIX = 5
_LONGEST_CHUNK = 100  # characters that are looked at together
_TOKEN = "token "
_RUN = re.compile(r"[^\W\d_]+|\d+|.", re.DOTALL)
_FEWEST = 2  # occurrences that a count needs; single ones may be mistakes


class TreebankCuts:
    """Counts of cuts in the chunks of a treebank."""

    def __init__(self, cut: Counter[str], kept: Counter[str], words: dict[str, list[str]]) -> None:
        """`cut`, `kept`: how often the place or chunk of a key was cut, and how often not;
        `words`: of chunks whose words are not in the text, or that the counts split wrongly.
        """
        self._cut = cut
        self._kept = kept
        self._words = words

    @classmethod
    def learn(cls, sentences: Iterable[Sequence[Chunk]]) -> Self:
        """Count the cuts of all chunks."""
        chunks = Counter(
            (text, words, place == len(sentence) - 1)
            for sentence in sentences
            for place, (text, words) in enumerate(sentence)
        )
        cut: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        for (text, words, last), times in chunks.items():
            if text.isalpha() and len(words) == 1:
                continue
            places = _places(text, words)
            for word in words:
                if _has_mark(word):
                    kept[_TOKEN + word] += times
            if places is None:
                continue
            if len(words) > 1:
                cut[_TOKEN + text] += times
            for place in _candidates(text):
                for key in _keys(text, place, last):
                    (cut if place in places else kept)[key] += times
        found = cls(*_frequent(cut, kept), {})
        found._forget_tokens()
        found._words = found._exceptions(chunks)
        return found

    def _forget_tokens(self) -> None:
        """Leave out tokens that need no entry, because the other counts keep them whole too."""
        for key in [key for key in {*self._cut, *self._kept} if key.startswith(_TOKEN)]:
            times = self._kept.pop(key, 0)
            chunk = key.removeprefix(_TOKEN)
            if times and self.split_chunk(chunk) != [chunk]:
                self._kept[key] = times
            else:
                self._cut.pop(key, None)

    def _exceptions(
        self, chunks: Counter[tuple[str, tuple[str, ...], bool]]
    ) -> dict[str, list[str]]:
        """Chunks that the counts split in another way than the treebank mostly does."""
        ways: dict[str, Counter[tuple[str, ...]]] = {}
        split = {text for text, words, _ in chunks if len(words) > 1 or not text.isalpha()}
        for (text, words, last), times in chunks.items():
            if text in split and (not last or "".join(words) != text):
                ways.setdefault(text, Counter())[words] += times
        found = {}
        for text, counts in ways.items():
            (words, times), total = counts.most_common(1)[0], counts.total()
            exact = "".join(words) == text
            often = (times >= _FEWEST or not exact) and 2 * times > total
            if often and self.split_chunk(text) != [*words]:
                found[text] = [*words]
        return found

    # Splitting ------------------------------------------------------------------------------------

    def split(self, text: str) -> list[str]:
        """The words of a sentence."""
        chunks = text.split()
        last = len(chunks) - 1
        return [
            word
            for place, chunk in enumerate(chunks)
            for word in self.split_chunk(chunk, is_last=place == last)
        ]

    def split_chunk(
        self, chunk: str, is_last: bool = False, within: Iterable[int] = ()
    ) -> list[str]:
        """The words of a chunk; `is_last`: of its sentence, where a full stop is likely.

        `within`: the cuts that were found when the chunk was part of a longer one.
        """
        if (known := self._known(chunk)) is not None:
            return known
        if chunk.isalpha() or self._is_token(chunk):
            return [chunk]
        if len(chunk) > _LONGEST_CHUNK:
            return self._split_long(chunk)
        found = {place for place in _candidates(chunk) if self._is_cut(chunk, place, is_last)}
        cuts = sorted(found.union(within))
        if not cuts:
            return [chunk]
        # From the outside to the inside, so that `Mr.` is found within `(Mr.`.
        place = min(cuts, key=lambda cut: min(cut, len(chunk) - cut))
        left, right = chunk[:place], chunk[place:]
        ends = is_last and not any(map(str.isalnum, right))  # only brackets and quotes follow
        return [
            *self.split_chunk(left, ends, [cut for cut in cuts if cut < place]),
            *self.split_chunk(right, is_last, [cut - place for cut in cuts if cut > place]),
        ]

    def _split_long(self, chunk: str) -> list[str]:
        """Split a very long chunk, such as a line of marks, by the text near each place."""
        near = _LONGEST_CHUNK // 4
        cuts = [
            place
            for place in _candidates(chunk)
            if self._is_cut(chunk[max(0, place - near) : place + near], min(place, near), False)
        ]
        return [chunk[start:end] for start, end in pairwise([0, *cuts, len(chunk)])]

    def _known(self, chunk: str) -> list[str] | None:
        """The words of a chunk that is an exception, with its capitals."""
        if chunk in self._words:
            return self._words[chunk]
        words = self._words.get(chunk.lower())
        if words is None:
            return None
        if "".join(words) == chunk.lower():
            ends = [sum(map(len, words[:n])) for n in range(len(words) + 1)]
            return [chunk[a:b] for a, b in pairwise(ends)]
        return [words[0][:1].upper() + words[0][1:], *words[1:]]

    def _is_token(self, chunk: str) -> bool:
        key = _TOKEN + chunk
        return self._kept[key] > 0 and self._kept[key] >= self._cut[key]

    def _is_cut(self, chunk: str, place: int, is_last: bool) -> bool:
        """Whether the treebank cuts here, by the most specific count that there is."""
        for key in _keys(chunk, place, is_last):
            for known in (key, key.removesuffix("$")):
                cut, kept = self._cut[known], self._kept[known]
                if cut + kept:
                    return cut > kept
        return False

    # Run folders ----------------------------------------------------------------------------------

    def to_data(self) -> dict[str, Any]:
        """Plain data: of every key how often it was cut and kept."""
        keys = sorted({*self._cut, *self._kept})
        counts = {key: [self._cut[key], self._kept[key]] for key in keys}
        return {"counts": counts, "words": self._words}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        cut: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        for key, counts in section(data["counts"], "cuts").items():
            cut[key], kept[key] = wholes(counts, "cuts")
        words = {text: texts(some, "cuts") for text, some in section(data["words"], "cuts").items()}
        return cls(cut, kept, words)


def _places(text: str, words: Sequence[str]) -> set[int] | None:
    """Where a chunk is cut; None if its words are not its parts."""
    if "".join(words) != text:
        return None
    found, place = set(), 0
    for word in words[:-1]:
        place += len(word)
        found.add(place)
    return found


def _candidates(text: str) -> list[int]:
    """Places beside a mark, between letters and digits, and before the n of n't."""
    return [
        place
        for place in range(1, len(text))
        if _symbol(text[place - 1]) != _symbol(text[place])
        or _is_mark_character(text[place])
        or (text[place].lower() == "n" and text[place + 1 : place + 2] in ("'", "’"))
    ]


def _keys(text: str, place: int, is_last: bool) -> list[str]:
    """The counts for a place, the most specific first; `$` marks the end of a sentence."""
    left, right = text[:place], text[place:]
    keys = []
    if len(right) <= _LONGEST_AFFIX and _has_mark(right):
        keys.append(f"suffix {right.lower()}")
    if len(left) <= _LONGEST_AFFIX and _has_mark(left):
        keys.append(f"prefix {left.lower()}")
    before, after, end = _shape(left), _shape(right), "$" if is_last else ""
    return [
        *keys,
        f"shape {before}|{after}{end}",
        f"sides {before[-2:]}|{after[:2]}{end if len(after) <= 2 else ''}",
        f"sides {before[-1:]}|{after[:1]}{end if len(after) <= 1 else ''}",
        f"sides |{after[:1]}{end if len(after) <= 1 else ''}",
        f"sides {before[-1:]}|",
    ]


def _shape(text: str) -> str:
    """A letter for every run of letters, 0 for digits, marks as they are: `3.5km` is `0.0a`."""
    return "".join(_symbol(run[0]) for run in _RUN.findall(text))


def _symbol(character: str) -> str:
    if character.isalpha():
        return "a"
    return "0" if character.isdigit() else character


def _is_mark_character(character: str) -> bool:
    return not character.isalnum()


def _has_mark(text: str) -> bool:
    """Whether a text has letters or digits, and marks."""
    return any(map(str.isalnum, text)) and any(map(_is_mark_character, text))


def _frequent(cut: Counter[str], kept: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """Without rare counts."""
    keys = {key for key in {*cut, *kept} if cut[key] + kept[key] >= _FEWEST}
    return (
        Counter({key: times for key, times in cut.items() if key in keys}),
        Counter({key: times for key, times in kept.items() if key in keys}),
    )
