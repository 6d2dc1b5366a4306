"""Compact tables: rounded probabilities, short keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elman.counts.compact import Blocks, Codes, array_parts, compact, divide, quantise, stored_array
from elman.counts.estimate import NgramConfig, estimate

RANDOM = np.random.default_rng(3)
TEXT = RANDOM.zipf(1.3, 20_000) % 300


def test_few_values_are_not_rounded() -> None:
    values = np.array([-3.0, 0.0, -np.inf, -1.5, -3.0])
    assert np.array_equal(np.asarray(quantise(values)), values)


def test_many_values_are_rounded_to_256_that_are_near() -> None:
    values = -RANDOM.exponential(3, 50_000)
    rounded = np.asarray(quantise(values))
    assert len(np.unique(rounded)) <= 256
    # 256 steps of equal width over the range would be off by half a step at most, and by a quarter
    # of a step in the mean. Groups are narrow where there are many values.
    step = np.ptp(values) / 256
    assert np.abs(rounded - values).mean() < step / 4
    assert np.mean(rounded) == pytest.approx(np.mean(values), abs=1e-3)


def test_zero_and_impossible_stay_exact_among_many() -> None:
    values = -RANDOM.exponential(3, 50_000)
    values[::7], values[1::7] = 0.0, -np.inf
    rounded = np.asarray(quantise(values))
    assert np.array_equal(rounded == 0, values == 0)
    assert np.array_equal(np.isneginf(rounded), np.isneginf(values))


def test_no_values() -> None:
    assert len(np.asarray(quantise(np.zeros(0)))) == 0


@given(st.lists(st.integers(0, 3000), max_size=300))
def test_blocks_hold_the_same_numbers(steps: list[int]) -> None:
    numbers = np.cumsum([0, *steps]).astype(np.int32)
    made = divide(numbers)
    assert made.firsts.dtype == np.int32
    large = numbers.astype(np.int64) + 2**31
    assert np.array_equal(np.asarray(divide(large)), large)
    assert np.array_equal(np.asarray(made), numbers)
    places = RANDOM.integers(0, len(numbers), 20)
    assert np.array_equal(made[places], numbers[places])


def test_wide_blocks_are_not_divided() -> None:
    numbers = np.array([0, 2**20, 2**20 + 5], dtype=np.int32)
    assert divide(numbers) is numbers


def test_stored_arrays_are_found_again() -> None:
    codes, blocks, plain = quantise(TEXT[:50] * -0.1), divide(np.arange(99)), np.arange(3)
    arrays = array_parts("a", codes) | array_parts("b", blocks) | array_parts("c", plain)
    assert isinstance(stored_array("a", arrays), Codes)
    assert isinstance(stored_array("b", arrays), Blocks)
    for name, expected in (("a", codes), ("b", blocks), ("c", plain)):
        assert np.array_equal(np.asarray(stored_array(name, arrays)), np.asarray(expected))
    assert stored_array("d", arrays) is None


def test_single_precision_is_rounded_once() -> None:
    """Sums are in double precision: a log probability is off by the rounding of its parts only."""
    tables = estimate(TEXT, NgramConfig(order=4), vocabulary_size=300, eos_id=0)
    small = compact(tables, 32)
    for table in small.tables:
        assert table.log_probs.dtype == np.float32
    rows = (RANDOM.zipf(1.3, 3000) % 300)[None]
    found, expected = small.score(rows), tables.score(rows)
    assert found.dtype == np.float64
    assert 0 < np.abs(found - expected).max() < 2e-6
    log_probs = small.predict(rows[0, :40].reshape(10, 4))
    assert log_probs.dtype == np.float64
    assert np.exp(log_probs).sum(axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("size", [300, 70_000])
def test_tables_are_smaller_and_score_nearly_the_same(size: int) -> None:
    tables = estimate(TEXT, NgramConfig(order=4), vocabulary_size=size, eos_id=0)
    small = compact(tables)
    assert small.tables[1].words.dtype == (np.uint16 if size == 300 else np.uint32)
    for table, other in zip(tables.tables, small.tables, strict=True):
        assert np.array_equal(np.asarray(table.prefixes), np.asarray(other.prefixes))
        assert np.array_equal(table.words, other.words)
    rows = (RANDOM.zipf(1.3, 3000) % 300)[None]
    differences = small.score(rows) - tables.score(rows)
    assert np.abs(differences).max() > 0
    assert abs(differences.mean()) < 0.01
