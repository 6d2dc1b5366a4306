"""Count n-grams of every order up to n, over arrays.

Takes the ids of a text, gives one `Level` per order; smoothing turns the levels into probabilities.

The number of an n-gram is its position in its level. Level k is sorted by (prefix, word), where
prefix is the number of the same n-gram without its last word, one level down. So counting the next
order is one sort of integers, and all continuations of a context are adjacent.

    level 1   the | cat | sat                    number = word id
    level 2   (the, cat) | (cat, sat)            key = number of prefix * vocabulary size + word
    level 3   ((the, cat), sat)

`<eos>` ends a line and, as context, starts the next one. Toolkits with two markers call these
`</s>` and `<s>`. With `context="line"` no n-gram extends to the line before.
"""

from dataclasses import dataclass

import numpy as np

Ints = np.ndarray


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
    stream = np.concatenate([[eos_id], ids]).astype(np.int32)
    reach = _reach(stream, eos_id, context)
    everything = np.arange(vocabulary_size, dtype=np.int32)
    counts = np.bincount(stream[1:], minlength=vocabulary_size)
    nothing = np.zeros(vocabulary_size, dtype=np.int32)
    levels = [Level(nothing, nothing, everything, everything, counts)]
    numbers = stream  # of the n-gram that ends at each position, one order down
    for length in range(2, order + 1):
        ends = np.flatnonzero(reach >= length - 1)  # where an n-gram of this length ends
        level, numbers = _count_level(stream, numbers, ends, vocabulary_size, levels[-1])
        levels.append(level)
    return levels


def _reach(stream: Ints, eos_id: int, context: str) -> Ints:
    """The largest context length at each position, in tokens."""
    positions = np.arange(len(stream), dtype=np.int32)
    if context == "stream":
        return positions
    line_starts = np.maximum.accumulate(np.where(stream == eos_id, positions, np.int32(0)))
    positions[1:] -= line_starts[:-1]
    return positions


def _count_level(
    stream: Ints, numbers: Ints, ends: Ints, vocabulary_size: int, below: Level
) -> tuple[Level, Ints]:
    keys = numbers[ends - 1].astype(np.int64)
    keys *= vocabulary_size
    keys += stream[ends]
    one_of_each, inverse, counts = _distinct(keys)
    places = ends[one_of_each]
    prefixes = numbers[places - 1]
    numbers_here = np.full(len(stream), -1, dtype=np.int32)
    numbers_here[ends] = inverse
    level = Level(prefixes, numbers[places], stream[places], below.firsts[prefixes], counts)
    return level, numbers_here


def _distinct(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Where each distinct key is found, smallest first; for each key its place among the distinct
    ones; and how often each of them occurs.
    """
    ordered, order = _sort(keys)
    is_bound = np.ones(len(keys) + 1, dtype=bool)  # a key that differs from the last, or the end
    is_bound[1:-1] = ordered[1:] != ordered[:-1]
    bounds = np.flatnonzero(is_bound)
    counts = np.diff(bounds)
    inverse = np.empty(len(keys), dtype=np.int32)
    inverse[order] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return order[bounds[:-1]], inverse, counts


def _sort(keys: Ints) -> tuple[Ints, Ints]:
    """Sorted keys, and where each of them stood.

    Key and place side by side in one integer, where they fit, sort three times as fast as argsort.
    """
    bits = len(keys).bit_length()
    if len(keys) and int(keys.max()).bit_length() + bits < 63:
        # In place: for large texts, asking the system for memory takes longer than the arithmetic.
        packed = keys << bits
        packed |= np.arange(len(keys))
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
        return packed, order
    order = np.argsort(keys)
    return keys[order], order
