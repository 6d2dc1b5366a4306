"""The ranking: which row comes next."""

from pathlib import Path

import pytest

from elman.experiments.reproduce import ranking
from elman.experiments.reproduce.costs import plan_rows
from elman.experiments.reproduce.ranking import rank_jobs
from elman.experiments.reproduce.registry import read_tables
from elman.experiments.reproduce.results import Cost, Failure, Kept, keep, read_kept, update_kept
from elman.experiments.reproduce.workshop import Workshop
from elman.training.machine import Machine


@pytest.fixture
def workshop(place: Path) -> Workshop:
    return Workshop(read_tables(), place / "out", place / "out" / "results.json")


def rows(workshop: Workshop):
    table = workshop.tables["toy"]
    return [(table, row, "texts/toy") for row in table.rows]


def names(workshop: Workshop, *first: str) -> list[str]:
    return [one.job.name.removeprefix("toy/") for one in rank_jobs(workshop, rows(workshop), first)]


def plan(workshop: Workshop, counts: float, neural: float) -> None:
    costs = {"toy-ngram-2-words": Cost(seconds=counts), "toy-tiny": Cost(seconds=neural)}
    keep(workshop.results, costs=costs)


def test_the_most_results_per_hour_come_first(workshop, monkeypatch) -> None:
    monkeypatch.setattr(ranking, "_MEASURING", 0.0)
    plan(workshop, counts=100, neural=40)
    ranked = {one.job.name: one for one in rank_jobs(workshop, rows(workshop))}
    # counts: itself and counts-cache for 100 s; neural: itself for 40 s; both: all four for 140 s.
    assert ranked["toy/counts"].value == 2
    assert ranked["toy/counts"].per_hour == pytest.approx(2 * 36)
    assert ranked["toy/neural"].per_hour == pytest.approx(1 * 90)
    assert ranked["toy/both"].per_hour == pytest.approx(4 * 3600 / 140)
    assert names(workshop) == ["both", "neural", "counts", "counts-cache"]


def test_an_expensive_training_comes_later(workshop) -> None:
    plan(workshop, counts=5, neural=1000)
    assert names(workshop)[:2] == ["counts", "counts-cache"]
    assert names(workshop, "toy/n*")[0] == "neural"
    assert names(workshop, "toy/both", "toy/n*")[:2] == ["both", "neural"]


def test_a_row_can_set_its_own_value(workshop) -> None:
    plan(workshop, counts=100, neural=100)
    assert names(workshop)[0] != "neural"
    workshop.tables["toy"].row("neural").value = 50.0
    workshop.tables["toy"].row("both").value = 0.0
    assert names(workshop)[0] == "neural"


def test_further_seeds_count_less(workshop) -> None:
    plan(workshop, counts=1000, neural=100)
    workshop.tables["toy"].row("neural").seeds = 3
    ranked = {one.job.name: one for one in rank_jobs(workshop, rows(workshop))}
    assert [ranked[name].value for name in ("toy/neural (seed 2)", "toy/neural (seed 3)")] == [
        0.5,
        0.25,
    ]
    assert list(ranked["toy/neural (seed 3)"].needed) == ["toy-tiny-seed2"]


def test_fewer_threads_take_longer(workshop) -> None:
    keep(workshop.results, costs={"toy-tiny": Cost(seconds=100, threads=2)})
    assert rank_jobs(workshop, rows(workshop))[0].cost.seconds == 100
    workshop.machine = Machine(threads=1)
    assert rank_jobs(workshop, rows(workshop))[0].cost.seconds == 200


def test_rows_that_were_set_aside_or_are_shipped(workshop, monkeypatch) -> None:
    plan(workshop, counts=100, neural=100)

    def fail(kept: Kept) -> None:
        kept.failures["toy/both"] = Failure(reason="no")

    update_kept(workshop.results, fail)
    assert "both" not in names(workshop)
    assert names(workshop)[0] == "counts"
    from elman.experiments.reproduce.measuring import measure_and_keep

    table = workshop.tables["toy"]
    result = measure_and_keep(workshop, table, table.row("counts"), "texts/toy")
    other = Workshop(workshop.tables, workshop.out / "new", workshop.out / "new" / "results.json")
    plan(other, counts=100, neural=100)
    before = {one.job.name: one.value for one in rank_jobs(other, rows(other))}
    monkeypatch.setattr(ranking, "read_shipped", lambda: Kept({"toy/counts": result}))
    after = {one.job.name: one.value for one in rank_jobs(other, rows(other))}
    assert before["toy/counts"] == 2
    assert after["toy/counts"] == pytest.approx(1.1)  # a repetition counts a tenth


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
