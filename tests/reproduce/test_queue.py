"""The queue: killed at any moment, shared by processes, ended by its budget."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny import write_letters, write_recipe

import elman
from elman.errors import DiskFull, InputError
from elman.experiments.reproduce import queue
from elman.experiments.reproduce.claims import claiming
from elman.experiments.reproduce.deadline import Deadline, Terminated
from elman.experiments.reproduce.queue import work_off
from elman.experiments.reproduce.registry import read_tables
from elman.experiments.reproduce.results import Cost, keep, read_kept
from elman.experiments.reproduce.trainings import share_done, trainings_of
from elman.experiments.reproduce.workers import share_out
from elman.experiments.reproduce.workshop import Workshop
from elman.training.history import read_history
from elman.training.machine import Machine

COSTS = {"toy-ngram-2-words": Cost(seconds=0.5), "toy-tiny": Cost(seconds=1.0)}


@pytest.fixture
def workshop(place: Path) -> Workshop:
    said: list[str] = []
    workshop = Workshop(read_tables(), place / "out", place / "out" / "results.json")
    workshop.say = said.append
    keep(workshop.results, costs=COSTS)
    return workshop


def rows(workshop: Workshop):
    table = workshop.tables["toy"]
    return [(table, row, "texts/toy") for row in table.rows]


def worked_off(workshop: Workshop, seconds: float = 600) -> list[str]:
    deadline = Deadline(seconds)
    return [job.name for job, _ in work_off(workshop, rows(workshop), deadline)]


def test_all_rows_and_seeds(workshop) -> None:
    workshop.tables["toy"].row("neural").seeds = 2
    found = worked_off(workshop)
    assert sorted(found) == [
        "toy/both",
        "toy/counts",
        "toy/counts-cache",
        "toy/neural",
        "toy/neural (seed 2)",
    ]
    result = read_kept(workshop.results).results["toy/neural"]
    first, second = result.figures["0"], result.figures["1"]
    assert first != second
    assert result.measured == pytest.approx((first + second) / 2)
    # The standard deviation of two figures is their distance over the root of two.
    assert result.spread == pytest.approx(abs(first - second) / 2**0.5)
    assert set(result.runs) == {"0", "1"}
    assert worked_off(workshop) == []
    assert [path.name for path in (workshop.out / "claims").iterdir()] == []


def test_a_failing_row_is_set_aside_and_the_others_go_on(workshop, monkeypatch) -> None:
    measure = queue.measure_and_keep

    def fail(workshop, table, row, data, number):
        if row.name == "neural":
            raise InputError("an extra is missing")
        return measure(workshop, table, row, data, number)

    monkeypatch.setattr(queue, "measure_and_keep", fail)
    assert sorted(worked_off(workshop)) == ["toy/both", "toy/counts", "toy/counts-cache"]
    kept = read_kept(workshop.results)
    assert kept.failures["toy/neural"].reason == "an extra is missing"
    (said,) = workshop.say.__self__
    assert said.startswith("toy/neural: set aside (an extra is missing)")
    monkeypatch.setattr(queue, "measure_and_keep", None)
    assert worked_off(workshop) == []  # not tried again


def test_a_signal_that_becomes_another_error_sets_nothing_aside(workshop, monkeypatch) -> None:
    """As in a library whose import was interrupted and that hides the reason."""

    def interrupted(*args):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except Terminated:
            raise AttributeError("partially initialized module") from None

    monkeypatch.setattr(queue, "measure_and_keep", interrupted)
    with pytest.raises(Terminated):
        worked_off(workshop)
    assert read_kept(workshop.results).failures == {}


def test_a_full_disk_ends_the_queue_and_sets_nothing_aside(workshop, monkeypatch) -> None:
    def full(*args):
        raise DiskFull("the disk is full")

    monkeypatch.setattr(queue, "measure_and_keep", full)
    with pytest.raises(DiskFull):
        worked_off(workshop)
    assert read_kept(workshop.results).failures == {}


def test_the_budget_ends_a_training_at_a_checkpoint_which_goes_on(workshop, place) -> None:
    recipe = place / "tiny.toml"
    recipe.write_text(recipe.read_text().replace("epochs = 3", "epochs = 100000"))
    keep(workshop.results, costs={"toy-tiny": Cost(seconds=100_000)})
    table = workshop.tables["toy"]
    (training,) = trainings_of(workshop.tables, table, table.row("neural")).values()
    started = time.monotonic()
    assert worked_off(workshop, 4) == ["toy/counts", "toy/counts-cache"]  # those that fit, first
    assert time.monotonic() - started < 60  # far less, but this machine may be busy
    first = share_done(training, workshop.runs)
    assert 0 < first < 1
    worked_off(workshop, 2)
    assert share_done(training, workshop.runs) > first


def test_what_others_have_claimed_is_left_alone(workshop) -> None:
    with claiming(workshop.out / "claims", ["toy-tiny"]) as claimed:
        assert claimed
        with claiming(workshop.out / "claims", ["a", "toy-tiny"]) as second:
            assert not second
        assert worked_off(workshop, 4) == ["toy/counts", "toy/counts-cache"]
    assert sorted(worked_off(workshop)) == ["toy/both", "toy/neural"]


@pytest.mark.parametrize(
    ("wanted", "threads", "cores", "shared"),
    [
        ("1", None, 2, (1, None)),
        ("2", None, 2, (2, 1)),
        ("2", None, 8, (2, 4)),
        ("2", 3, 8, (2, 3)),
        ("auto", None, 1, (1, None)),
        ("auto", 2, 2, (1, 2)),
        ("auto", 1, 2, (2, 1)),
    ],
)
def test_threads_are_shared_out(wanted, threads, cores, shared, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("elman.experiments.reproduce.workers.usable_cores", lambda: cores)
    assert share_out(wanted, threads, tmp_path) == shared


def test_fitting_and_scoring_take_the_threads_of_the_training(workshop, monkeypatch) -> None:
    used: list[int | None] = []
    monkeypatch.setattr(Machine, "prepare", lambda self: used.append(self.threads))
    workshop.machine = Machine(threads=1)
    worked_off(workshop)
    assert len(used) >= 4
    assert set(used) == {1}


# Processes ----------------------------------------------------------------------------------------

TABLE = """
title = "killed"
source = "nobody"
metric = "perplexity"
data = "killed-text"

[rows.counts]
about = "bigram"
recipe = "ngram"
settings = ["model.order=2", "text.tokenizer=words"]

[rows.neural]
about = "small network"
seeds = 2
recipe = "tiny.toml"

[rows.wider]
about = "another"
recipe = "tiny.toml"
settings = ["model.hidden_size=8"]

[rows.both]
about = "two together"
recipe = "tiny.toml"
adapters = ["mix:run={counts}"]
"""
FIGURES = {"killed/counts": 1, "killed/neural": 2, "killed/wider": 1, "killed/both": 1}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a user's table, its text and its recipe."""
    write_letters(tmp_path / "texts" / "killed-text")
    write_recipe(
        tmp_path / "tiny.toml", training="epochs = 20\nlearning_rate = 5.0\nsave_minutes = 0.001"
    )
    (tmp_path / "killed.toml").write_text(TABLE)
    names = ["ngram-2-words", "tiny", "tiny-8"]
    costs = {f"killed-text-{name}": Cost(seconds=5) for name in names}
    keep(tmp_path / "out" / "results.json", costs=costs)
    monkeypatch.setenv("PYTHONPATH", str(Path(elman.__file__).parents[1]))
    return tmp_path


def begin(folder: Path, *options: str, workers: str = "1") -> subprocess.Popen[str]:
    words = "reproduce killed.toml --budget 10m --data texts --out out --threads 1".split()
    return subprocess.Popen(
        [sys.executable, "-m", "elman", *words, "--workers", workers, *options],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def whole(folder: Path) -> dict[str, int]:
    kept = read_kept(folder / "out" / "results.json")
    return {name: len(result.figures) for name, result in kept.results.items()}


def manifests(folder: Path) -> dict[str, bytes]:
    """The finished runs, as they are on the disk."""
    found = {}
    for path in (folder / "out" / "runs").glob("*/facts.json"):
        facts = json.loads(path.read_text())
        if facts.get("training", {}).get("finished", True):
            found[path.parent.name] = (path.parent / "manifest.json").read_bytes()
    return found


def wait_for_work(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a job is claimed; importing torch takes long on a busy machine."""
    claims, latest = folder / "out" / "claims", time.monotonic() + 200
    while process.poll() is None and time.monotonic() < latest:
        if claims.is_dir() and any(claims.iterdir()):
            return
        time.sleep(0.02)


def kill_and_finish(folder: Path, kills: int) -> None:
    """Kill the queue at random moments, let it end; nothing is lost, nothing finished twice."""
    drawn = random.Random(22)
    finished: dict[str, bytes] = {}
    results: dict[str, int] = {}
    for _ in range(kills):
        process = begin(folder)
        wait_for_work(folder, process)
        time.sleep(drawn.uniform(0.0, 3.0))
        process.kill()
        process.communicate()
        now = manifests(folder)
        assert {name: now.get(name) for name in finished} == finished
        figures = whole(folder)
        assert all(figures.get(name, 0) >= count for name, count in results.items())
        finished, results = now, figures
    process = begin(folder)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert whole(folder) == FIGURES
    now = manifests(folder)
    assert {name: now.get(name) for name in finished} == finished
    for run in (folder / "out" / "runs").glob("killed-text-tiny*"):
        steps = [record["step"] for record in read_history(run) if "valid_perplexity" in record]
        assert steps == sorted(set(steps)), f"{run.name}: an epoch was trained twice"


def test_a_killed_queue_goes_on(folder: Path) -> None:
    kill_and_finish(folder, kills=2)


@pytest.mark.slow
def test_ten_kills(folder: Path) -> None:
    kill_and_finish(folder, kills=10)


def test_two_queues_on_one_folder(folder: Path) -> None:
    queues = [begin(folder) for _ in range(2)]
    said = [process.communicate(timeout=300) for process in queues]
    assert [process.returncode for process in queues] == [0, 0], said
    assert whole(folder) == FIGURES
    printed = "".join(out for out, _ in said)
    for row, count in {"counts": 1, "wider": 1, "both": 1, "neural": 2}.items():
        assert printed.count(f"killed {row} ") == count, "a row was measured twice"
    assert read_kept(folder / "out" / "results.json").failures == {}


def test_two_workers_and_a_signal(folder: Path) -> None:
    process = begin(folder, "--json", workers="2")
    wait_for_work(folder, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode
    process = begin(folder, "--json", workers="2")
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert read_kept(folder / "out" / "results.json").failures == {}
    assert whole(folder) == FIGURES, said
    assert {entry["row"] for entry in json.loads(out)} <= {"counts", "neural", "wider", "both"}
    assert "worker 1: " in said or "worker 2: " in said or os.name == "nt"
