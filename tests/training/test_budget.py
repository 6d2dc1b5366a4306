"""Budgets: how they are written, and what is left of them."""

import math

import pytest

from elman.errors import InputError
from elman.training import budget as module
from elman.training.budget import Allowance, Budget


@pytest.mark.parametrize(
    ("text", "budget", "shown"),
    [
        ("45s", Budget(seconds=45), "45s"),
        ("10m", Budget(seconds=600), "10m"),
        (" 10 min ", Budget(seconds=600), "10m"),
        ("1.5h", Budget(seconds=5400), "1.5h"),
        ("70teraflop", Budget(teraflop=70), "70 teraflop"),
        ("70 TeraFLOP", Budget(teraflop=70), "70 teraflop"),
        ("2petaflop", Budget(teraflop=2000), "2000 teraflop"),
    ],
)
def test_budgets(text: str, budget: Budget, shown: str) -> None:
    assert Budget.parse(text) == budget
    assert str(budget) == shown


@pytest.mark.parametrize(
    "text", ["", "10", "m", "10x", "-3m", "500gigaflop", "nan h", "inf s", "1e3s"]
)
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(
        InputError, match="write a time like 45s, 10m or 2h, or operations like 70"
    ) as caught:
        Budget.parse(text)
    assert str(caught.value).endswith("; the units are s, m, min, h, d, teraflop, petaflop")


def test_nothing_is_no_budget() -> None:
    with pytest.raises(InputError, match="0m: must be above 0"):
        Budget.parse("0m")


def test_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.time, "monotonic", lambda: 130.0)
    allowance = Allowance(Budget(seconds=60), started=100.0)
    assert (allowance.left, allowance.used) == (30, 30)
    assert Allowance(Budget(teraflop=1), started=100.0).left == math.inf


def test_what_is_kept_back_for_the_ending() -> None:
    """Large models take long to save, but never more than a part of the budget."""
    hour = Budget(seconds=3600)
    assert Budget(seconds=10).ending_seconds(1000) == pytest.approx(0.5, abs=0.01)
    assert hour.ending_seconds(1000) == pytest.approx(2.0, abs=0.01)
    assert hour.ending_seconds(40_000_000) == pytest.approx(6.0, abs=0.01)
    assert hour.ending_seconds(1000, calibration=5.0) == pytest.approx(7.0, abs=0.01)
    assert Budget(seconds=10).ending_seconds(10**9) == pytest.approx(3.0)
    assert Budget(teraflop=1).ending_seconds(10**9) == 0
