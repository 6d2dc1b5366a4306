"""Verdicts, by a table that can be checked by hand."""

import math

import pytest

from elman.experiments.reproduce.verdicts import judge, judge_order


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
        (None, 80.0, False, "measured"),
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
        ("a", {"a": 0.6, "b": 0.6}, "order differs (0 of 1 pairs)"),
        ("c", {"c": 0.9, "d": 0.8, "b": 0.1}, "order holds (1 of 1 pairs)"),  # c and d are alike
        ("c", {"c": 0.9, "d": 0.8}, "measured: an order needs another row"),
    ],
)
def test_an_order(row, measured, expected) -> None:
    assert str(judge_order(row, PUBLISHED, measured, 0.05)) == expected
