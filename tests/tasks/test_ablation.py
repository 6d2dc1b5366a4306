"""The ablation study: every cell and seed once, finished runs are kept, expected order."""

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest

from elman.cells import CELLS
from elman.errors import ElmanError, InputError
from elman.experiments import ablation, vary
from elman.experiments.ablation import STUDIED, TASKS, CellResult, CellRun, run_ablation
from elman.recipes import load_recipe
from elman.runs.folder import read_run
from elman.tasks.task import load, train
from elman.text.corpora import open_corpus

TINY = "arithmetic:digits=1,distractors=0,lines=200"
SMALL = ("model.parameters=1500", "training.batch_size=4", "training.epochs=1")


@pytest.fixture
def here(without_curves: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Train in this process, without starting others; gives the list of trainings."""
    trained: list[str] = []

    def training(folder: Path, recipe: str, data: str, settings: list[str], seed: int) -> None:
        trained.append(folder.name)
        train(recipe, data=data, out=folder, overrides=settings, seed=seed)

    monkeypatch.setattr(ablation, "_train_apart", training)
    return trained


def test_every_cell_and_seed_is_trained_alike_and_once(tmp_path: Path, here: list[str]) -> None:
    said: list[str] = []

    def ablated() -> list[CellResult]:
        return run_ablation(
            ["gru", "elman"],
            seeds=(3, 4),
            out=tmp_path,
            overrides=SMALL,
            data=TINY,
            at_once=1,
            progress=said.append,
        )

    results = ablated()
    assert [result.cell for result in results] == ["gru", "elman"]
    assert here == [f"arithmetic-{cell}-{seed}" for seed in (3, 4) for cell in ("gru", "elman")]
    assert len(said) == 4
    assert said[-1].startswith("4 of 4: elman, seed 4: accuracy 0.")
    for result in results:
        assert [run.seed for run in result.runs] == [3, 4]
        for run in result.runs:
            trained = load(run.run)
            assert trained.config.seed == run.seed
            assert trained.config.model.cell == result.cell
            assert trained.config.training.batch_size == 4
            text = f"{TINY},seed={run.seed}"
            assert trained.facts["data"]["name"] == text
            found = trained.accuracy(text, after="=")
            assert (run.accuracy, run.counted) == (found.accuracy, found.counted)
            assert 1200 < run.parameters <= 1500
    assert ablated() == results
    assert len(here) == 4  # nothing was trained again


def test_a_run_with_other_settings_is_not_taken_for_this_one(
    tmp_path: Path, here: list[str]
) -> None:
    options = {"out": tmp_path, "seeds": (0,), "at_once": 1}
    run_ablation(["elman"], data=TINY, overrides=SMALL, **options)
    for data, settings in ((TINY, SMALL[1:]), (f"{TINY},digits=2", SMALL)):
        with pytest.raises(InputError, match="is a run with other settings"):
            run_ablation(["elman"], data=data, overrides=settings, **options)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"out": tmp_path, "seeds": (0,), "data": TINY, "overrides": SMALL}
    folder = tmp_path / "arithmetic-elman-0"
    text = f"{TINY},seed=0"
    config = load_recipe("arithmetic", ["model.cell=elman", *SMALL], 0)
    asked: list[list[str]] = []
    monkeypatch.setattr(ablation, "_run_elman", lambda words, what: asked.append(words))
    with pytest.raises(InputError, match="no such run"):  # nothing was trained in truth
        run_ablation(["elman"], **options)
    assert asked[0][:4] == ["train", "arithmetic", "--data", text]
    hashes = {text: open_corpus(text).split("train").sha256()}
    stopped = {
        "config.json": json.loads(json.dumps(config.to_data())),
        "facts.json": {"data": {"sha256": hashes}, "training": {"finished": False}},
    }
    folder.mkdir()
    monkeypatch.setattr(vary, "read_run", lambda path, names: stopped)
    with pytest.raises(InputError, match="no such run|not an elman run"):
        run_ablation(["elman"], **options)
    assert asked[1][:3] == ["train", "--resume", str(folder)]


def test_trainings_are_processes_of_one_thread(tmp_path: Path) -> None:
    (result,) = run_ablation(["elman"], seeds=(0,), out=tmp_path, data=TINY, overrides=SMALL)
    assert read_run(Path(result.runs[0].run))["training.json"]["threads"] == 1
    assert math.isnan(result.spread)


def test_why_a_training_failed_is_said(tmp_path: Path) -> None:
    words = ["train", "aritmetic", "--data", TINY, "--out", str(tmp_path / "run")]
    with pytest.raises(ElmanError, match=r"run: the training failed \(unknown recipe 'aritmetic'"):
        ablation._run_elman(words, tmp_path / "run")


def test_mean_and_spread() -> None:
    runs = [
        CellRun(seed, accuracy, 0.0, 10, 1, 1.0, "r") for seed, accuracy in ((0, 0.5), (1, 0.9))
    ]
    result = CellResult("gru", runs)
    assert result.mean == pytest.approx(0.7)
    assert result.spread == pytest.approx(0.4 / math.sqrt(2))  # n - 1 in the denominator
    assert result.to_data()["runs"][1]["accuracy"] == 0.9
    assert CellResult("gru", runs[:1]).to_data()["spread"] is None


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"cells": ["gr"]}, "unknown cell 'gr'; did you mean 'gru'"),
        ({"task": "algebra"}, "unknown task 'algebra'"),
        ({"cells": []}, "at least one cell"),
        ({"seeds": ()}, "at least one cell and one seed"),
        ({"data": "novel.txt"}, "--data novel.txt: the task arithmetic learns the built-in corpus"),
        ({"data": "arithmetic:digit=1"}, "unknown setting arithmetic.digit; did you mean"),
        ({"data": TINY, "overrides": ["model.units=5"]}, "unknown setting model.units"),
    ],
)
def test_what_cannot_be_asked_for(
    wrong: dict[str, Any], problem: str, here: list[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=problem):
        run_ablation(**{"out": tmp_path / "runs", **wrong})
    assert not here  # nothing was trained


def test_the_tasks_and_cells_are_there() -> None:
    assert set(STUDIED) <= set(CELLS)
    for task in TASKS.values():
        assert load_recipe(task.recipe).training is not None
        corpus = open_corpus(task.data + ",lines=100")
        assert task.after is None or task.after in corpus.split("test").text


@pytest.mark.slow
def test_the_order_of_the_study_on_the_arithmetic_task(tmp_path: Path) -> None:
    started = time.perf_counter()
    means = {result.cell: result.mean for result in run_ablation(out=tmp_path)}
    assert time.perf_counter() - started < 30 * 60
    poor = ("elman", "lstm-f")
    # Without a forget gate an LSTM is no better than no gates at all; all else is far above both.
    assert max(means[cell] for cell in poor) < min(means[c] for c in STUDIED if c not in poor) - 0.1
    assert means["lstm-b"] > means["lstm"]
    assert all(abs(means[cell] - means["lstm-b"]) < 0.1 for cell in ("gru", "mut1", "mut2", "mut3"))
