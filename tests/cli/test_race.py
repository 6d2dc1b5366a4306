"""`elman study race`: a budget that is kept, a meter, a test text that is scored once."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import elman
from elman.errors import InputError
from elman.experiments import race as racing
from elman.recipes import load_recipe
from elman.tasks.gradient_task import build_trainer
from elman.tasks.language_modelling.task import LanguageModelling
from elman.training.trainer import Trainer

SMALL = ["model.hidden_size=6", "model.embedding_size=6", "training.batch_size=4"]
SET = [word for setting in SMALL for word in ("--set", setting)]


def trainer_of(data: str, *words: str) -> Trainer:
    config = load_recipe("quick", [*SMALL, *words])
    corpus = LanguageModelling.open(data, config)
    lesson = LanguageModelling.prepare(corpus, config, lambda what: None)
    return build_trainer(lesson, torch.device("cpu"))


def laps(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "race.jsonl").read_text().splitlines()]


def command(folder: Path, *more: str, budget: str = "0.0002teraflop") -> list[str]:
    return [
        "study",
        "race",
        "--budget",
        budget,
        "--data",
        "data",
        "--out",
        str(folder),
        *SET,
        *more,
    ]


def test_a_race_keeps_its_budget_and_the_test_text_for_the_end(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[str] = []
    plain = racing._perplexity
    monkeypatch.setattr(
        racing,
        "_perplexity",
        lambda run, data, split: scored.append(split) or plain(run, data, split),
    )
    assert call(*command(tmp_path, "--seeds", "2")).code == 0
    first = laps(tmp_path)
    assert [lap["seed"] for lap in first] == [1, 2]
    assert len({lap["hash"] for lap in first}) == 1
    assert scored == ["valid", "valid"]
    for lap in first:
        assert lap["test"] is None
        assert 0.9 * lap["budget"] < lap["teraflop"] <= lap["budget"] == 0.0002
        assert lap["validating_teraflop"] > 0
        assert lap["settings"] == SMALL
        assert lap["version"] == elman.__version__
        trained = elman.load(tmp_path / lap["run"])
        found = trained.evaluate("data", split="valid").perplexity
        assert lap["validation"] == pytest.approx(found)
    assert first[0]["validation"] != first[1]["validation"]
    # Again, for the paper: nothing is trained, and the test text is scored once.
    shown = call(*command(tmp_path, "--seeds", "2", "--final"))
    assert shown.code == 0
    assert "mean" in shown.out
    assert call(*command(tmp_path, "--seeds", "2", "--final", "--json")).code == 0
    assert scored == ["valid", "valid", "test", "test"]
    assert [replace_test(lap) for lap in laps(tmp_path)] == first
    assert all(lap["test"] > 1 for lap in laps(tmp_path))


def replace_test(lap: dict[str, Any]) -> dict[str, Any]:
    return lap | {"test": None}


def test_an_interrupted_race_goes_on(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lap whose training had ended is only measured again."""

    def fail(path: Path, lap: racing.Lap) -> None:
        raise InputError("stopped here")

    with monkeypatch.context() as patch:
        patch.setattr(racing, "_write", fail)
        assert "stopped here" in call(*command(tmp_path, "--seeds", "1")).err
    (run,) = tmp_path.iterdir()
    before = (run / "manifest.json").stat().st_mtime_ns
    assert call(*command(tmp_path, "--seeds", "1")).code == 0
    assert [lap["run"] for lap in laps(tmp_path)] == [run.name]
    assert (run / "manifest.json").stat().st_mtime_ns == before


def test_the_meter_counts_every_step(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planned is what is metered, also with schedules and a last part with all words."""
    data = str(place / "data")
    schedules = [
        "training.window_start=5",
        "training.batch_start=2",
        "training.partial_shuffle=true",
        "model.output_options={samples = 4, full_last = 0.3}",
        "training.epochs=2.5",
    ]
    trainer = trainer_of(data, *schedules)
    planned = racing.planned_operations(trainer)
    expected, costs = 0.0, set()
    while not trainer.finished:
        step = trainer.step()
        each = trainer.model.multiplications(step.read)
        costs.add(each / step.read)
        expected += 6 * step.read * each
    assert trainer.counters.operations == pytest.approx(expected, rel=1e-12)
    assert planned == pytest.approx(expected, rel=1e-12)
    trainer.validate()
    seen = trainer.validation.tokens_per_epoch
    each = trainer.model.multiplications(seen, learning=False)
    assert trainer.counters.validating_operations == pytest.approx(2 * seen * each)


def test_planning_changes_nothing(place: Path) -> None:
    data, words = str(place / "data"), ("training.epochs=0.5", "training.window_jitter=2")
    planned, fresh = trainer_of(data, *words), trainer_of(data, *words)
    racing.planned_operations(planned)
    assert planned.counters == fresh.counters
    steps = []
    for trainer in (planned, fresh):
        torch.manual_seed(5)
        steps.append(trainer.step())
    assert steps[0] == steps[1]


def test_counting_ngrams_costs_operations(place: Path) -> None:
    data = str(place / "data")
    plain = racing.planned_operations(trainer_of(data, "training.epochs=1"))
    trainer = trainer_of(data, "training.epochs=1", "model.output=ngram-residual")
    assert trainer.counters.operations > 0
    assert racing.planned_operations(trainer) > plain + trainer.counters.operations


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--budget", "10m"], "a race is about operations"),
        (["--set", "training.epochs=500"], "more than the budget of 0.0002"),
        (["--budget", "0.00000001teraflop"], "one step takes more than the budget"),
        (["--recipe", "ngram"], "a race is between neural language models"),
        (["--set", "model.vectors=v.txt"], "outside the budget"),
        (["--set", "training.regime=scheduled-sampling"], "operations are not metered"),
        (["--seeds", "0"], "--seeds 0: must be at least 1"),
    ],
)
def test_refusals(call: Any, tmp_path: Path, more: list[str], problem: str) -> None:
    base = ["study", "race", "--data", "data", "--out", str(tmp_path / "r")]
    if "--recipe" not in more:
        base += SET
    if "--budget" not in more:
        base += ["--budget", "0.0002teraflop"]
    result = call(*base, *more)
    assert result.code == 2
    assert problem in result.err
    assert len(result.err.strip().splitlines()[-1]) < 300
    assert not (tmp_path / "r").exists()


def test_a_lap_over_the_budget_does_not_count(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the plan were wrong, the meter would still refuse."""
    monkeypatch.setattr(racing, "planned_operations", lambda trainer: 1.0e6 * trainer.config.epochs)
    result = call(*command(tmp_path, "--seeds", "1", budget="0.00001teraflop"))
    assert result.code != 0
    assert "this lap does not count" in result.err
    assert not (tmp_path / "race.jsonl").exists()


def test_a_damaged_file_of_laps(call: Any, tmp_path: Path) -> None:
    (tmp_path / "race.jsonl").write_text('{"hash": 1}\n')
    result = call(*command(tmp_path, "--seeds", "1"))
    assert result.code == 2
    assert "line 1: is not a lap of a race" in result.err


def test_a_lap_as_data() -> None:
    lap = racing.Lap("ab", "quick", [], 1, 70.0, 69.9, 5.0, 10.0, 1.0, 5, 90.0, None, "r", "v", {})
    header, rows = racing.table([lap, replace(lap, seed=2, validation=100.0, test=80.0)])
    assert header[:3] == ["seed", "validation", "test"]
    assert rows[-1][:3] == ["mean", "95.00", "–"]
