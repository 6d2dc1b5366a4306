"""Counting n-grams and skip-grams, against counting one by one."""

from collections import Counter

import numpy as np
import pytest

from elman.counts.skip_grams import (
    FeatureTable,
    bar,
    count_features,
    feature_offsets,
    walk_features,
    words_before,
)

EOS = 0
TEXT = np.random.default_rng(2).integers(0, 5, 200)


def by_hand(ids: np.ndarray, offsets: tuple[int, ...], context: str) -> Counter[tuple[int, ...]]:
    """(words of the feature, nearest first, then the word that follows), one place at a time."""
    text = [EOS, *map(int, ids)]  # the text starts a line
    found: Counter[tuple[int, ...]] = Counter()
    for place in range(1, len(text)):
        seen = [place - offset for offset in offsets]
        if seen and min(seen) < 0:
            continue
        between = text[min(seen) + 1 : place] if seen else []
        if context == "line" and EOS in between:
            continue
        found[(*(text[one] for one in seen), text[place])] += 1
    return found


def spelled(tables: dict[tuple[int, ...], FeatureTable], of: FeatureTable, number: int) -> tuple:
    """The words of a feature, from its keys."""
    if not of.offsets:
        return ()
    shorter, word = divmod(int(of.keys[number]), 5)
    return (*spelled(tables, tables[of.offsets[:-1]], shorter), word)


@pytest.mark.parametrize("context", ["line", "stream"])
def test_counts_are_those_of_counting_one_by_one(context: str) -> None:
    kinds = feature_offsets(4, 2, 2)
    counted = [*count_features(TEXT, kinds, vocabulary_size=5, eos_id=EOS, context=context)]
    tables = {one.table.offsets: one.table for one in counted}
    for table in tables.values():
        found = {
            (*spelled(tables, table, feature), int(word)): int(count)
            for feature, word, count in zip(table.features, table.words, table.values, strict=True)
        }
        assert found == by_hand(TEXT, table.offsets, context), table.offsets


@pytest.mark.parametrize("context", ["line", "stream"])
def test_what_was_counted_at_a_place_is_found_there_again(context: str) -> None:
    kinds = feature_offsets(3, 2, 2)
    counted = [*count_features(TEXT, kinds, vocabulary_size=5, eos_id=EOS, context=context)]
    reach = max(max(offsets, default=1) for offsets in kinds)
    row = np.concatenate([np.full(reach - 1, -1), [EOS], TEXT])[None]
    before = words_before(row, reach, bar(EOS, context))
    walked = walk_features([one.table for one in counted], before, 5)
    for one, (table, features) in zip(counted, walked, strict=True):
        places = np.flatnonzero(features[0] >= 0)
        assert (places == one.places).all()
        assert (table.find_entries(features[0, places], TEXT[places]) == one.entries).all()


def test_kinds_of_features() -> None:
    assert feature_offsets(3, 0, 2) == [(), (1,), (1, 2)]
    # One skipped word, after one or two others, or between two.
    assert feature_offsets(2, 1, 2) == [(), (1,), (2,), (1, 3), (2, 3)]
    for kinds in (feature_offsets(5, 4, 3), feature_offsets(1, 3, 2), feature_offsets(2, 2, 4)):
        assert all(offsets[:-1] in kinds for offsets in kinds)  # found word by word


def test_unknown_features_and_words_are_not_found() -> None:
    table = FeatureTable(
        (1,), np.array([1, 3]), np.array([0, 2, 3]), np.array([0, 4, 2]), np.ones(3)
    )
    assert [*table.find_features(np.array([-1, 0, 1, 2, 3, 4]))] == [-1, -1, 0, -1, 1, -1]
    assert [*table.find_entries(np.array([0, 0, 0, 1, 1]), np.array([0, 2, 4, 2, 4]))] == [
        0,
        -1,
        1,
        2,
        -1,
    ]
