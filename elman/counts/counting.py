"""Count n-grams of every order up to n, over arrays.

Takes the ids of a text, gives one `Level` per order; smoothing turns the levels into probabilities.

The number of an n-gram is its position in its level. Level k is sorted by (prefix, word), where
prefix is the number of the same n-gram without its last word, one level down. So all continuations
of a context are adjacent.

    level 1   the | cat | sat                    number = word id
    level 2   (the, cat) | (cat, sat)            sorted by number of prefix, then by word
    level 3   ((the, cat), sat)

`<eos>` ends a line and, as context, starts the next one. Toolkits with two markers call these
`</s>` and `<s>`. With `context="line"` no n-gram extends to the line before.

Memory is 12 bytes per token besides the levels: the text, the places in the text sorted by the
n-gram that ends there, and the number of that n-gram. The next order sorts the places of a few
contexts at a time by the following word, and writes the result over them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from elman.errors import InputError

Ints = np.ndarray
_AT_ONCE = 1 << 18  # places sorted at a time; they fit into the cache of a processor
_BITS = 63  # of the integers that are sorted
_MOST = 2**31 - 2  # places that an int32 can number


@dataclass
class Level:
    """All distinct n-grams of one order; entry i of each array describes n-gram number i."""

    prefixes: Ints  # number, one level down, of the n-gram without its last word
    suffixes: Ints  # number, one level down, of the n-gram without its first word
    words: Ints  # id of the last word
    firsts: Ints  # id of the first word
    counts: Ints  # how often it was seen

    def __len__(self) -> int:
        return len(self.words)


def count_ngrams(
    ids: Ints, *, order: int, vocabulary_size: int, eos_id: int, context: str
) -> list[Level]:
    """Count levels 1 to `order` of a text; level 1 has an entry for every vocabulary word."""
    found = count_levels(
        ids, order=order, vocabulary_size=vocabulary_size, eos_id=eos_id, context=context
    )
    return list(found)


def count_levels(
    ids: Ints, *, order: int, vocabulary_size: int, eos_id: int, context: str
) -> Iterator[Level]:
    """The same levels one by one, so that each can be used and freed before the next."""
    if len(ids) > _MOST:
        raise InputError(f"the text has {len(ids):,} tokens; at most {_MOST:,} are counted at once")
    stream = np.empty(len(ids) + 1, dtype=np.int32)
    stream[0], stream[1:] = eos_id, ids
    everything = np.arange(vocabulary_size, dtype=np.int32)
    nothing = np.zeros(vocabulary_size, dtype=np.int32)
    counts = np.bincount(stream[1:], minlength=vocabulary_size).astype(np.int32)
    level = Level(nothing, nothing, everything, everything, counts)
    yield level
    if order == 1:
        return
    sizes = counts.copy()
    sizes[eos_id] += 1  # the line start before the text, which is a context only
    places, by_pair = _sorted_places(stream, vocabulary_size)
    text = _Text(stream, places, stream.copy(), vocabulary_size, by_pair)
    del stream, places
    for length in range(2, order + 1):
        barred = eos_id if context == "line" and length > 2 else None
        level = text.extend(level, sizes, barred, highest=length == order)
        sizes = level.counts
        if length == order:
            del text
        yield level


def _sorted_places(stream: Ints, vocabulary_size: int) -> tuple[Ints, bool]:
    """All places of a text, sorted by the word there and, if the numbers fit, by the next word too;
    and whether they did.
    """
    bits = len(stream).bit_length()
    by_pair = 2 * int(vocabulary_size).bit_length() + bits < _BITS
    # Words and place side by side in one integer sort three times as fast as argsort.
    packed = stream.astype(np.int64)
    if by_pair:
        packed *= vocabulary_size
        packed[:-1] += stream[1:]
    packed <<= bits
    for first in range(0, len(packed), _AT_ONCE):
        part = packed[first : first + _AT_ONCE]
        part |= np.arange(first, first + len(part))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed.astype(np.int32), by_pair


@dataclass
class _Text:
    """A text during the counting."""

    stream: Ints  # ids, the line start first
    places: Ints  # where the n-grams of the current order end, sorted by their number
    numbers: Ints  # of the n-gram of the current order that ends at each place
    vocabulary_size: int
    in_order: bool = False  # whether the places are sorted by the next word too

    def extend(self, below: Level, sizes: Ints, barred: int | None, *, highest: bool) -> Level:
        """The level above `below`, whose n-grams occur `sizes` times.

        No n-gram has `barred` as its last word but one. After the highest order, places and numbers
        are not updated.
        """
        parts, found, kept = [_empty()], 0, 0
        for first, last, begin, end in self._chunks(sizes):
            barred_here = below.words[first:last] == barred
            ends, prefixes = self._next(self.places[begin:end], sizes[first:last], barred_here)
            words = self.stream.take(ends)
            order, starts = self._sort(prefixes, words)
            distinct, counts = order[starts[:-1]], np.diff(starts)
            prefixes = prefixes[distinct] + np.int32(first)
            part = Level(
                prefixes,
                self.numbers.take(ends.take(distinct)),
                words.take(distinct),
                below.firsts[prefixes],
                counts.astype(np.int32),
            )
            parts.append(part)
            if not highest:
                ends = ends.take(order)
                own = np.arange(found, found + len(counts), dtype=np.int32)
                self.numbers[ends] = np.repeat(own, counts)
                self.places[kept : kept + len(ends)] = ends  # these were read before
            found, kept = found + len(counts), kept + len(ends)
        self.places, self.in_order = self.places[:kept], False
        return _join(parts)

    def _chunks(self, sizes: Ints) -> Iterator[tuple[int, int, int, int]]:
        """A few n-grams at a time: the first, the one after the last, and their places."""
        bounds = np.cumsum(sizes, dtype=np.int32)
        # Number of the n-gram, word, and place within the chunk are sorted as one integer.
        most = min(_AT_ONCE, 1 << (_BITS - 2 - int(self.vocabulary_size).bit_length()) // 2)
        first = begin = 0
        while first < len(sizes):
            last = max(int(bounds.searchsorted(np.int32(begin + most), side="right")), first + 1)
            end = int(bounds[last - 1])
            yield first, last, begin, end
            first, begin = last, end

    def _next(self, places: Ints, sizes: Ints, barred: Ints) -> tuple[Ints, Ints]:
        """The places after these, with the index of the n-gram before each."""
        prefixes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        ends = places.astype(np.int64)  # numpy indexes fastest with these
        ends += 1
        unusable = ends == len(self.stream)
        if barred.any():
            unusable |= np.repeat(barred, sizes)
        if unusable.any():
            usable = np.flatnonzero(~unusable)
            return ends[usable], prefixes[usable]
        return ends, prefixes

    def _sort(self, prefixes: Ints, words: Ints) -> tuple[Ints, Ints]:
        """The order by prefix and word, and where each distinct n-gram begins in it, and the end.

        Key and index side by side in one integer sort faster than argsort.
        """
        bits = len(words).bit_length()
        packed = prefixes.astype(np.int64)
        packed *= self.vocabulary_size
        packed += words
        order = np.arange(len(words))
        if not self.in_order:
            packed <<= bits
            packed |= order
            packed.sort()
            order = packed & ((1 << bits) - 1)
            packed >>= bits
        is_bound = np.ones(len(words) + 1, dtype=bool)  # differs from the key before, or the end
        np.not_equal(packed[1:], packed[:-1], out=is_bound[1:-1])
        return order, np.flatnonzero(is_bound)


def _empty() -> Level:
    return Level(*(np.empty(0, dtype=np.int32) for _ in fields(Level)))


def _join(parts: list[Level]) -> Level:
    """One level of several, array by array; the parts are emptied, to save memory."""
    joined = {}
    for field in fields(Level):
        joined[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
        for part in parts:
            setattr(part, field.name, None)
    return Level(**joined)
