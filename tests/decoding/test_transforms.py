"""Each transform against a hand computation, and properties of all on any distribution."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elman.decoding.options import DecodingOptions
from elman.decoding.transforms import (
    TRANSFORMS,
    largest,
    min_p,
    normalise,
    softmax_sampling,
    temperature,
    top_k,
    top_p,
)
from elman.errors import ElmanError, InputError


def log_of(*probs: float) -> torch.Tensor:
    return torch.tensor([probs], dtype=torch.float64).log()


def assert_probs(log_probs: torch.Tensor, *expected: float) -> None:
    torch.testing.assert_close(log_probs.exp(), torch.tensor([expected], dtype=torch.float64))


# Rows with exact zeros and exact ties, since count models have both.
weights = st.lists(st.integers(0, 4) | st.floats(1e-6, 1e3), min_size=1, max_size=8).filter(any)
dtypes = st.sampled_from([torch.float32, torch.float64])


def as_log_probs(row: list[float], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    probs = torch.tensor([row], dtype=torch.float64)
    return (probs / probs.sum()).log().to(dtype)


def numbers_of(name: str) -> st.SearchStrategy[float]:
    """Any number that the transform allows."""
    numbers = st.integers(1, 10) if TRANSFORMS[name].kind is int else st.floats(0, 1)
    if TRANSFORMS[name].allows(1e300):
        numbers |= st.floats(1, 1e300) if TRANSFORMS[name].kind is float else st.just(10**9)
    return numbers.filter(TRANSFORMS[name].allows)


def test_temperature_half_squares_the_probabilities() -> None:
    # .5 .25 .25 squared: .25 .0625 .0625, sum .375 -> 2/3 1/6 1/6
    assert_probs(temperature(log_of(0.5, 0.25, 0.25), 0.5), 2 / 3, 1 / 6, 1 / 6)


def test_temperature_two_takes_square_roots() -> None:
    # roots of .64 .36 0: .8 .6 0, sum 1.4
    assert_probs(temperature(log_of(0.64, 0.36, 0.0), 2.0), 0.8 / 1.4, 0.6 / 1.4, 0.0)


def test_a_vanishing_temperature_leaves_the_likeliest() -> None:
    assert_probs(temperature(log_of(0.2, 0.4, 0.4), 5e-324), 0.0, 0.5, 0.5)


def test_softmax_sampling_takes_probabilities_not_logarithms() -> None:
    # alpha 4: 4 * (.5 .25 .25) = 2 1 1; relative to exp(1): e 1 1
    total = math.e + 2
    assert_probs(
        softmax_sampling(log_of(0.5, 0.25, 0.25), 4.0), math.e / total, 1 / total, 1 / total
    )


def test_softmax_sampling_does_not_bring_back_the_impossible() -> None:
    # alpha 0 is uniform, over the two possible ones
    assert_probs(softmax_sampling(log_of(0.9, 0.0, 0.1), 0.0), 0.5, 0.0, 0.5)


def test_top_k_breaks_ties_by_id() -> None:
    # .4 stays; of the three .2 only the first: .4/.6 .2/.6
    assert_probs(top_k(log_of(0.2, 0.4, 0.2, 0.2), 2), 1 / 3, 2 / 3, 0.0, 0.0)


def test_top_k_wider_than_the_vocabulary_changes_nothing() -> None:
    assert_probs(top_k(log_of(0.7, 0.0, 0.3), 9), 0.7, 0.0, 0.3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_top_p_stops_exactly_at_p(dtype: torch.dtype) -> None:
    # .4 + .3 = .7 is enough for p = .7, so .2 and .1 go: 4/7 3/7
    kept = top_p(log_of(0.3, 0.1, 0.4, 0.2).to(dtype), 0.7)
    torch.testing.assert_close(
        kept.exp(), torch.tensor([[3 / 7, 0, 4 / 7, 0]], dtype=dtype), atol=1e-6, rtol=0
    )


def test_top_p_breaks_ties_by_id() -> None:
    # .25 + .25 reaches .4, and so would any two of them: the first two stay
    assert_probs(top_p(log_of(0.25, 0.25, 0.25, 0.25), 0.4), 0.5, 0.5, 0.0, 0.0)


def test_top_p_keeps_at_least_one_and_at_most_all() -> None:
    assert_probs(top_p(log_of(0.3, 0.7), 1e-300), 0.0, 1.0)
    tiny = log_of(1 - 1e-20, 1e-20)  # the first alone rounds to one
    assert torch.isfinite(top_p(tiny, 1.0)).all()


def test_min_p_is_relative_to_the_likeliest() -> None:
    # threshold .5 * .4 = .2: .2 stays on the edge, .1 goes; sum .9
    assert_probs(min_p(log_of(0.4, 0.3, 0.2, 0.1), 0.5), 4 / 9, 3 / 9, 2 / 9, 0.0)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_rows_are_transformed_on_their_own(name: str) -> None:
    @settings(deadline=None)
    @given(st.lists(st.tuples(*[st.integers(0, 9)] * 4).filter(any), min_size=2), numbers_of(name))
    def check(counts: list[tuple[int, ...]], number: float) -> None:
        rows = torch.cat([as_log_probs(list(row)) for row in counts])
        together = TRANSFORMS[name].apply(rows, number)
        alone = torch.cat([TRANSFORMS[name].apply(row.unsqueeze(0), number) for row in rows])
        torch.testing.assert_close(together, alone)

    check()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_result_is_a_distribution_over_the_possible(name: str) -> None:
    @settings(deadline=None, max_examples=200)
    @given(weights, numbers_of(name), dtypes)
    def check(row: list[float], number: float, dtype: torch.dtype) -> None:
        before = as_log_probs(row, dtype)
        after = TRANSFORMS[name].apply(before, number)
        assert after.shape == before.shape
        assert after.dtype == dtype
        assert not after.isnan().any()
        assert after.exp().sum().item() == pytest.approx(1, abs=1e-5)
        assert not (after.exp() > 0)[torch.isneginf(before)].any()

    check()


@settings(deadline=None)
@given(weights, st.integers(1, 10))
def test_top_k_keeps_exactly_k_of_the_possible(row: list[float], k: int) -> None:
    kept = ~torch.isneginf(top_k(as_log_probs(row), k))
    assert kept.sum() == min(k, sum(weight > 0 for weight in row))


@settings(deadline=None)
@given(weights, st.floats(0, 1, exclude_min=True))
def test_top_p_keeps_the_smallest_set(row: list[float], p: float) -> None:
    probs = as_log_probs(row).exp()[0]
    kept = ~torch.isneginf(top_p(as_log_probs(row), p))[0]
    assert probs[kept].sum() >= p * (1 - 2e-7)  # enough ...
    if p < 1 and kept.sum() > 1:
        assert probs[kept].sum() - probs[kept].min() < p  # ... and one fewer is not
    if not kept.all():
        assert probs[kept].min() >= probs[~kept].max() - 1e-12  # and they are the likeliest


@settings(deadline=None)
@given(weights, st.integers(1, 10))
def test_largest_agrees_with_sorting(row: list[float], count: int) -> None:
    by_value_then_id = sorted(range(len(row)), key=lambda i: (-row[i], i))[:count]
    mask = largest(torch.tensor([row], dtype=torch.float64), count)[0]
    assert mask.nonzero().flatten().tolist() == sorted(by_value_then_id)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_nothing_possible_is_refused(name: str) -> None:
    @settings(deadline=None, max_examples=10)
    @given(numbers_of(name))
    def check(number: float) -> None:
        rows = torch.cat([log_of(0.5, 0.5), log_of(0.0, 0.0)])
        with pytest.raises(ElmanError, match="no token is possible here"):
            TRANSFORMS[name].apply(rows, number)

    check()


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_numbers_no_distribution_has_are_refused(broken: float) -> None:
    with pytest.raises(ElmanError, match="predicted NaN or infinity"):
        normalise(torch.tensor([[0.0, broken]]))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_is_an_option(name: str) -> None:
    transform = TRANSFORMS[name]
    assert getattr(DecodingOptions(), transform.option) == transform.off
    with pytest.raises(InputError, match=f"^{transform.option} is nan; give .+"):
        DecodingOptions(**{transform.option: math.nan})

    @settings(deadline=None)
    @given(numbers_of(name).filter(bool))  # temperature 0 is greedy
    def check(number: float) -> None:
        asked = DecodingOptions(**{transform.option: number}).transforms()
        assert asked == ({} if number == transform.off else {name: number})

    check()
