"""Count n-grams and skip-grams: which word follows which of the words before it.

Takes ids, gives one `FeatureTable` per kind of feature; `adjustments.py` turns the counts into
weights, and the sparse matrix model (`models/snm.py`) looks them up.

A kind of feature is a tuple of offsets, nearest first: (1, 2) are the last two words, (2,) is the
word before the last, (1, 3) the last word and the one two before it, () is no word at all. A
feature without its last offset is a feature, too, so the number of a feature is found word by word:

    number of (w1, w3)  =  place of  (number of (w1,)) · V + w3  among the sorted keys of (1, 3)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from elman.counts.ranges import last_holding
from elman.counts.tables import NOTHING

Array = np.ndarray
Offsets = tuple[int, ...]


def feature_offsets(order: int, skip: int, skip_words: int) -> list[Offsets]:
    """The kinds of features, shortest first: n-grams up to `order`, and skip-grams that leave out
    up to `skip` words between (or after) at most `skip_words` others. Without its last offset, each
    of them is one of the others.
    """
    found = {tuple(range(1, length)) for length in range(1, order + 1)}
    for near in range(min(skip_words, order)):  # words between the gap and the predicted one
        for far in range(1, skip_words - near + 1):  # words beyond it
            for gap in range(1, skip + 1):
                first = near + gap + 1
                found.add((*range(1, near + 1), *range(first, first + far)))
    return sorted(found, key=lambda offsets: (len(offsets), offsets))


def words_before(rows: Array, reach: int, barred: int | None) -> list[Array]:
    """The word at each distance from 1 to `reach` before every id after the first `reach` of a row,
    (B, reach + T) -> (B, T) each; NOTHING beyond a `barred` word, which starts a line.
    """
    width = rows.shape[1] - reach
    visible = np.ones((len(rows), width), dtype=bool)
    found = []
    for offset in range(1, reach + 1):
        column = rows[:, reach - offset : reach - offset + width]
        found.append(np.where(visible, column, NOTHING))
        if barred is not None:
            visible &= column != barred
    return found


@dataclass
class FeatureTable:
    """All features of one kind, and the words that follow each of them."""

    offsets: Offsets
    keys: Array  # of each feature, sorted: number of the shorter feature · V + last word
    starts: Array  # where the words after each feature begin, and the end
    words: Array  # that follow, sorted within each feature
    values: Array  # of each (feature, word): a count, or a weight

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def features(self) -> Array:
        """The number of the feature of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def totals(self) -> Array:
        """The sum of the values of each feature, in double precision."""
        return np.bincount(self.features, self.values, len(self))

    def find_features(self, keys: Array) -> Array:
        """The numbers of features, or -1."""
        return _found(self.keys, np.searchsorted(self.keys, keys), keys)

    def find_entries(self, features: Array, words: Array) -> Array:
        """The numbers of the entries (feature, word), or -1; features are known."""
        begins, ends = self.starts[features], self.starts[features + 1]
        places = last_holding(
            begins.astype(np.int64),
            ends.astype(np.int64),
            (words,),
            lambda places, words: self.words.take(places, mode="clip") <= words,
        )
        known = (places >= begins) & (self.words.take(places, mode="clip") == words)
        return np.where(known, places, -1)


def _found(stored: Array, places: Array, wanted: Array) -> Array:
    if not len(stored):
        return np.full_like(wanted, -1)
    places = np.minimum(places, len(stored) - 1)
    return np.where(stored[places] == wanted, places, -1)


def feature_keys(shorter: Array, words: Array, vocabulary_size: int) -> Array:
    """The key of each feature from the number of the shorter one and its last word, or -1."""
    return np.where((shorter >= 0) & (words >= 0), shorter * vocabulary_size + words, -1)


def walk_features(
    tables: Sequence[FeatureTable], before: Sequence[Array], vocabulary_size: int
) -> Iterator[tuple[FeatureTable, Array]]:
    """Each table with the number of the feature that holds at every place, or -1.

    before: the word at each distance, as `words_before` gives them, all of one shape.
    """
    numbers: dict[Offsets, Array] = {(): np.zeros_like(before[0])}
    for table in tables:
        if table.offsets:
            shorter, words = numbers[table.offsets[:-1]], before[table.offsets[-1] - 1]
            keys = feature_keys(shorter, words, vocabulary_size)
            numbers[table.offsets] = table.find_features(keys)
        yield table, numbers[table.offsets]


@dataclass
class CountedFeatures:
    """The features of one kind in a text."""

    table: FeatureTable  # its values are counts
    places: Array  # in the text that have a feature of this kind
    entries: Array  # the entry of the feature and the word, at each of these places


def count_features(
    ids: Array,
    kinds: Sequence[Offsets],
    *,
    vocabulary_size: int,
    eos_id: int,
    context: str,
) -> Iterator[CountedFeatures]:
    """Count the features of each kind in a text that starts a line; kinds are shortest first."""
    reach = max((max(offsets, default=1) for offsets in kinds), default=1)
    row = np.concatenate([np.full(reach - 1, NOTHING), [eos_id], ids])[None]
    before = [column[0] for column in words_before(row, reach, bar(eos_id, context))]
    numbers: dict[Offsets, Array] = {}
    for offsets in kinds:
        keys, number = np.zeros(1, dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
        if offsets:
            shorter = numbers[offsets[:-1]]
            wanted = feature_keys(shorter, before[offsets[-1] - 1], vocabulary_size)
            keys, number = np.unique(wanted, return_inverse=True)
            if len(keys) and keys[0] == -1:  # places without such a feature
                keys, number = keys[1:], number - 1
        numbers[offsets] = number
        places = np.flatnonzero(number >= 0)
        pairs = number[places] * vocabulary_size + ids[places]
        pairs, entries, counts = np.unique(pairs, return_inverse=True, return_counts=True)
        features, words = np.divmod(pairs, vocabulary_size)
        starts = np.searchsorted(features, np.arange(len(keys) + 1))
        table = FeatureTable(offsets, keys, starts, words.astype(np.int32), counts)
        yield CountedFeatures(table, places.astype(np.int32), entries.astype(np.int32))


def bar(eos_id: int, context: str) -> int | None:
    """The word beyond which a context cannot see."""
    return eos_id if context == "line" else None
