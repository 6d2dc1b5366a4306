"""Verdicts, with figures that can be checked by hand."""

import math

import pytest

from elman.experiments.reproduce.verdicts import Measured, describe_ours, judge, judge_order


@pytest.mark.parametrize(
    ("published", "measured", "higher", "expected"),
    [
        (100.0, 100.0, False, "reproduced"),
        (100.0, 100.04, False, "reproduced"),
        (100.0, 100.5, False, "reproduced (+0.5 %)"),
        (100.0, 99.5, False, "reproduced (−0.5 %)"),
        (100.0, 99.4, False, "better by 0.6 %"),
        (100.0, 101.0, False, "within 1.0 %"),
        (100.0, 110.0, False, "within 10.0 %"),
        (100.0, 111.0, False, "not reached: 11.0 % off"),
        (100.0, math.inf, False, "not reached: infinite"),
        (100.0, 101.0, True, "better by 1.0 %"),
        (100.0, 99.0, True, "within 1.0 %"),
        (100.0, 80.0, True, "not reached: 20.0 % off"),
        (None, 80.0, False, "ours"),
    ],
)
def test_one_figure(published, measured, higher, expected) -> None:
    verdict = judge(published, measured, metric="perplexity", higher_is_better=higher, near=0.005)
    assert str(verdict) == expected


def test_nats_are_compared_as_perplexities() -> None:
    # exp(0.05) = 1.0513: five percent more perplexity, though one percent more nats
    verdict = judge(4.7, 4.75, metric="nats", higher_is_better=False, near=0.005)
    assert str(verdict) == "within 5.1 %"


PUBLISHED = {"a": 0.3, "b": 0.75, "c": 0.89, "d": 0.90}


@pytest.mark.parametrize(
    ("row", "measured", "expected"),
    [
        ("a", {"a": 0.5}, "measured: an order needs another row"),
        ("a", {"a": 0.5, "b": 0.6, "c": 0.7}, "order holds (2 of 2 pairs)"),
        ("a", {"a": 0.65, "b": 0.6, "c": 0.7}, "order differs (1 of 2 pairs)"),
        ("a", {"a": 0.6, "b": 0.6}, "direction differs (1 pair)"),
        ("c", {"c": 0.9, "d": 0.8, "b": 0.1}, "direction holds (1 pair)"),  # c and d are alike
        ("c", {"c": 0.9, "d": 0.8}, "measured: an order needs another row"),
    ],
)
def test_an_order(row, measured, expected) -> None:
    figures = {name: Measured(mean) for name, mean in measured.items()}
    assert str(judge_order(row, PUBLISHED, figures, 0.05)) == expected


# Three seeds with a standard deviation of 0.01 each: the standard error of a difference is
# 0.01 · √(2/3) = 0.0082, with 4 degrees of freedom the limit is 2.78 · 0.0082 = 0.0227.
@pytest.mark.parametrize(
    ("row", "measured", "expected"),
    [
        ("a", {"a": 0.5, "b": 0.522}, "not decided (1 within the noise of the seeds)"),
        ("a", {"a": 0.5, "b": 0.523}, "direction holds (1 pair)"),
        ("a", {"a": 0.523, "b": 0.5}, "direction differs (1 pair)"),
        (
            "a",
            {"a": 0.5, "b": 0.51, "c": 0.6},
            "order holds (1 of 1 pair, 1 within the noise of the seeds)",
        ),
        (
            "a",
            {"a": 0.5, "b": 0.51, "c": 0.49, "d": 0.6},
            "not decided (1 pair as published, 2 within the noise of the seeds)",
        ),
        (
            "b",
            {"a": 0.6, "b": 0.5, "c": 0.49, "d": 0.7},
            "order differs (1 of 2 pairs, 1 within the noise of the seeds)",
        ),
    ],
)
def test_the_noise_of_seeds_decides_nothing(row, measured, expected) -> None:
    figures = {name: Measured(mean, 0.01, 3) for name, mean in measured.items()}
    assert str(judge_order(row, PUBLISHED, figures, 0.05)) == expected


def test_a_spread_of_one_row_widens_the_limit() -> None:
    # 0.01 and 0: one row has all the noise, so 2 degrees of freedom, 4.30 · 0.01 / √3 = 0.0248.
    figures = {"a": Measured(0.5, 0.01, 3), "b": Measured(0.524, 0.0, 3)}
    assert "not decided" in str(judge_order("a", PUBLISHED, figures, 0.05))


@pytest.mark.parametrize(
    ("published", "measured", "expected"),
    [
        (124.7, 123.0, "ours: 1.4 % below the published figure"),  # 1.7 / 124.7 = 0.0136
        (100.0, 150.0, "ours: 50.0 % above the published figure"),
        (100.0, math.inf, "ours: infinite"),
        (None, 80.0, "ours"),
    ],
)
def test_a_recipe_of_ours_makes_no_claim(published, measured, expected) -> None:
    assert str(describe_ours(published, measured, metric="perplexity")) == expected


def test_few_seeds_can_decide_if_they_are_far_apart() -> None:
    # The standard error is √(5.29²/2 + 3.45²/3) = 4.24, with 1.6 degrees of freedom; t is below 7.
    figures = {"a": Measured(25.5, 3.45, 3), "b": Measured(74.9, 5.29, 2)}
    assert str(judge_order("a", PUBLISHED, figures, 0.05)) == "direction holds (1 pair)"
    figures["b"] = Measured(50.0, 5.29, 2)
    assert "not decided" in str(judge_order("a", PUBLISHED, figures, 0.05))
