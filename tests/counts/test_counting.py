from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elman.counts import counting
from elman.counts.counting import Level, count_ngrams


def as_dict(levels: list[Level], order: int) -> dict[tuple[int, ...], int]:
    """n-gram to count, read back from the arrays."""

    def ngram(length: int, number: int) -> tuple[int, ...]:
        level = levels[length - 1]
        before = ngram(length - 1, level.prefixes[number]) if length > 1 else ()
        return (*before, int(level.words[number]))

    level = levels[order - 1]
    return {ngram(order, i): int(level.counts[i]) for i in range(len(level)) if level.counts[i]}


def count_slowly(ids: list[int], order: int, eos: int, context: str) -> dict[tuple[int, ...], int]:
    if order == 1:
        return dict(Counter((word,) for word in ids))
    stream = [eos, *ids]
    ngrams = zip(*(stream[offset:] for offset in range(order)), strict=False)
    crosses = (ngram[1:-1] for ngram in ngrams)
    ngrams = zip(*(stream[offset:] for offset in range(order)), strict=False)
    counted = zip(ngrams, crosses, strict=True)
    return dict(Counter(n for n, inside in counted if context == "stream" or eos not in inside))


@given(
    st.lists(st.integers(0, 4), max_size=60),
    st.integers(1, 5),
    st.sampled_from(["line", "stream"]),
)
def test_counts_equal_counting_one_by_one(ids: list[int], order: int, context: str) -> None:
    levels = count_ngrams(
        np.array(ids, dtype=np.int64), order=order, vocabulary_size=5, eos_id=0, context=context
    )
    for length in range(1, order + 1):
        assert as_dict(levels, length) == count_slowly(ids, length, 0, context)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_levels_are_sorted_and_linked(ids: list[int]) -> None:
    levels = count_ngrams(
        np.array(ids, dtype=np.int64), order=4, vocabulary_size=5, eos_id=0, context="stream"
    )
    for below, level in pairwise(levels):
        keys = level.prefixes * 5 + level.words
        assert np.all(np.diff(keys) > 0)
        # The suffix of an n-gram ends in the same word.
        assert np.array_equal(below.words[level.suffixes], level.words)
        assert np.array_equal(below.firsts[level.prefixes], level.firsts)


@pytest.mark.parametrize(
    ("context", "bigrams"),
    [
        # a b <eos> a: with lines, <eos> a is the start of the second line
        ("line", {(0, 1): 2, (1, 2): 1, (2, 0): 1}),
        ("stream", {(0, 1): 2, (1, 2): 1, (2, 0): 1}),
    ],
)
def test_a_text_to_count_by_hand(context: str, bigrams: dict[tuple[int, ...], int]) -> None:
    levels = count_ngrams(
        np.array([1, 2, 0, 1]), order=3, vocabulary_size=3, eos_id=0, context=context
    )
    assert as_dict(levels, 2) == bigrams
    # Trigrams never look back over a line start, unless the text is one stream.
    crossing = {(2, 0, 1): 1} if context == "stream" else {}
    assert as_dict(levels, 3) == {(0, 1, 2): 1, (1, 2, 0): 1} | crossing


@given(
    st.lists(st.integers(0, 4), max_size=60),
    st.integers(1, 5),
    st.sampled_from(["line", "stream"]),
    st.sampled_from([63, 8]),
    st.integers(1, 9),
)
def test_levels_do_not_depend_on_how_the_work_is_divided(
    ids: list[int], order: int, context: str, bits: int, at_once: int
) -> None:
    # In 8 bits, pairs of words do not fit beside their place, as with a large vocabulary.
    text = np.array(ids, dtype=np.int64)
    whole = count_ngrams(text, order=order, vocabulary_size=5, eos_id=0, context=context)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_AT_ONCE", at_once)
        patch.setattr(counting, "_BITS", bits)
        again = count_ngrams(text, order=order, vocabulary_size=5, eos_id=0, context=context)
    for level, other in zip(whole, again, strict=True):
        for name, array in vars(level).items():
            assert np.array_equal(array, getattr(other, name))
