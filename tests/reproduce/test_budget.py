"""Which rows fit into a given time."""

import pytest

from elman.errors import InputError
from elman.experiments.reproduce.budget import fill_budget, left_over, parse_budget
from elman.experiments.reproduce.costs import plan_rows
from elman.experiments.reproduce.registry import read_tables
from elman.experiments.reproduce.results import Cost, keep, read_kept
from elman.experiments.reproduce.workshop import Workshop


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("30m", 1800), ("30 min", 1800), ("2h", 7200), ("1.5h", 5400), ("1d", 86400)],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "30x", "-3m", "nan h"])
def test_bad_times(text: str) -> None:
    with pytest.raises(InputError, match="write a time like 45s, 30m or 2h"):
        parse_budget(text)


@pytest.fixture
def workshop(place) -> Workshop:
    return Workshop(read_tables(), place / "out", place / "out" / "results.json")


def rows(workshop: Workshop):
    table = workshop.tables["toy"]
    return [(table, row, "texts/toy") for row in table.rows]


def test_the_cheapest_first_and_nothing_that_is_too_much(workshop) -> None:
    costs = {"toy-ngram-2-words": Cost(seconds=5), "toy-tiny": Cost(seconds=1000)}
    keep(workshop.results, costs=costs)
    found = [result.row for result in fill_budget(workshop, rows(workshop), 100)]
    assert found == ["counts", "counts-cache"]
    assert left_over(workshop, rows(workshop)) == [
        ("toy neural", "17 min"),
        ("toy both", "17 min"),  # the counts it needs are there already
    ]
    assert list(fill_budget(workshop, rows(workshop), 100)) == []  # they are kept
    found = [result.row for result in fill_budget(workshop, rows(workshop), 1010)]
    assert found == ["neural", "both"]


def test_what_fits_before_but_not_after(workshop) -> None:
    keep(workshop.results, costs={"toy-ngram-2-words": Cost(seconds=5)})
    keep(workshop.results, costs={"toy-tiny": Cost(seconds=0.0)})
    found = [result.row for result in fill_budget(workshop, rows(workshop), 3)]
    assert found == ["neural"]  # both would need the counts too


def test_plans_are_made_once(workshop, monkeypatch) -> None:
    from elman.tasks import planning

    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.05)
    plan_rows(workshop, rows(workshop))
    costs = read_kept(workshop.results).costs
    assert set(costs) == {"toy-ngram-2-words", "toy-tiny"}
    assert costs["toy-tiny"].teraflop
    assert costs["toy-tiny"].parameters
    assert costs["toy-ngram-2-words"].teraflop is None
    monkeypatch.setattr("elman.experiments.reproduce.costs.plan", None)
    plan_rows(workshop, rows(workshop))
    assert not workshop.runs.exists()
