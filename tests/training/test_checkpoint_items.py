"""Every item of a checkpoint is needed: without it, a resumed run differs."""

from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from outcome import differences, outcome
from stopping import (
    LINES,
    OPTIMIZERS,
    REGIMES,
    STREAM,
    diverging_at,
    finish,
    recipe,
    stop_at,
    write_text,
)

from elman.runs.folder import read_run, update_run
from elman.tasks.task import train
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("light")

GUARDED = [
    *OPTIMIZERS["sgd"],
    "training.trigger=3",
    "training.schedule_patience=2",
    "training.patience=8",
    "training.epochs=4",
]
Parts = dict[str, Any]


@pytest.fixture(scope="module")
def foreign_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Validation gets worse with training."""
    rising = np.arange(1.0, 13) ** 2
    return write_text(tmp_path_factory.mktemp("text"), {"train": rising, "valid": rising[::-1]})


@pytest.fixture(scope="module")
def midway(tmp_path_factory: pytest.TempPathFactory, foreign_data: Path) -> Callable[..., Any]:
    """Copies of runs stopped in a step, and the result of the unstopped run."""
    place = tmp_path_factory.mktemp("midway")

    def prepare(batches: list[str], stop: int) -> tuple[Path, dict[str, Any]]:
        name = f"{batches[0]}-{stop}"
        options: Any = {"data": str(foreign_data), "overrides": [*GUARDED, *batches], "seed": 3}
        for ending, stops in ("whole", []), ("stopped", [stop]):
            out = place / f"{name}-{ending}"
            if out.exists():
                continue
            with diverging_at(4), stop_at(stops):
                if stops:
                    with pytest.raises(Stopped):
                        train(recipe(foreign_data), out=out, **options)
                else:
                    train(recipe(foreign_data), out=out, **options)
        copied = place / f"{name}-{time.time_ns()}"
        shutil.copytree(place / f"{name}-stopped", copied)
        return copied, effects(place / f"{name}-whole")

    return prepare


def effects(out: Path) -> dict[str, Any]:
    """Weights, memory and history: a lost item must change one of them."""
    return {
        name: value
        for name, value in outcome(out).items()
        if "safetensors" in name or name == "history"
    }


def without(prefix: str) -> Callable[[Parts], None]:
    def drop(parts: Parts) -> None:
        memory = parts["memory.safetensors"]
        dropped = [name for name in memory if name.startswith(prefix)]
        assert dropped
        for name in dropped:
            del memory[name]

    return drop


def put(value: Any, *keys: str) -> Callable[[Parts], None]:
    """Set a number of the trainer."""

    def change(parts: Parts) -> None:
        inner = parts["training.json"]["trainer"]
        for key in keys[:-1]:
            inner = inner[key]
        assert inner[keys[-1]] != value, "already so: nothing is tested"
        inner[keys[-1]] = value

    return change


def forget_weights(parts: Parts) -> None:
    parts["last.safetensors"] = copy.deepcopy(parts["weights.safetensors"])


def forget_best_weights(parts: Parts) -> None:
    parts["weights.safetensors"] = copy.deepcopy(parts["last.safetensors"])


def forget_random_state(parts: Parts) -> None:
    fresh = torch.Generator().manual_seed(3).get_state().numpy()
    assert parts["memory.safetensors"]["random/cpu"].shape == fresh.shape
    parts["memory.safetensors"]["random/cpu"] = fresh


def forget_window_generator(parts: Parts) -> None:
    fresh = np.random.default_rng(3).bit_generator.state
    put(fresh, "position", "random")(parts)


def forget_history(parts: Parts) -> None:
    parts["training.json"]["history"] = 0


EARLY, LATE = 15, 31  # before and after averaging began
EMPTY_METER = {
    "nats": 0.0,
    "tokens": 0,
    "steps": 0,
    "clipped": 0,
    "norms": 0.0,
    "largest_norm": 0.0,
    "learning_rate": 0.0,
}
ITEMS: dict[str, tuple[list[str], int, Callable[[Parts], None]]] = {
    "weights": (STREAM, LATE, forget_weights),
    "best weights": (STREAM, LATE, forget_best_weights),
    "best nats": (STREAM, LATE, put(None, "best_nats")),
    "optimizer memory": (STREAM, LATE, without("optimizer/")),
    "averages": (STREAM, LATE, without("average/")),
    "steps in the averages": (STREAM, LATE, put(1, "averages", "steps")),
    "validations that averaging waits for": (STREAM, EARLY, put([], "averages", "validations")),
    "carried state": (STREAM, LATE, without("carried")),
    "random state": (STREAM, LATE, forget_random_state),
    "offset": (STREAM, LATE, put(0, "position", "offset")),
    "window generator": (STREAM, LATE, forget_window_generator),
    "epoch of lines": (LINES, LATE, put(0, "position", "epoch")),
    "number of the batch of lines": (LINES, LATE, put(0, "position", "number")),
    "schedule": (STREAM, LATE, put(1.0, "schedule", "current")),
    "best of the schedule": (STREAM, LATE, put(None, "schedule", "best")),
    "patience of the schedule": (STREAM, EARLY, put(0, "schedule", "waited")),
    "lowered rate": (STREAM, LATE, put(1.0, "rate_factor")),
    "waited": (STREAM, LATE, put(0, "waited")),
    "validations": (STREAM, LATE, put(0, "validations")),
    "step": (STREAM, LATE, put(0, "step")),
    "epoch": (STREAM, LATE, put(0, "epoch")),
    "tokens in the epoch": (STREAM, LATE, put(0, "tokens_in_epoch")),
    "meter": (STREAM, LATE, put(EMPTY_METER, "meter")),
    "length of the history": (STREAM, LATE, forget_history),
}


@pytest.mark.parametrize(("batches", "stop"), [(STREAM, EARLY), (STREAM, LATE), (LINES, LATE)])
def test_with_every_item_nothing_differs(
    midway: Callable[..., Any], batches: list[str], stop: int
) -> None:
    run, whole = midway(batches, stop)
    averages = [key for key in read_run(run)["memory.safetensors"] if key.startswith("average/")]
    assert bool(averages) == (stop == LATE)
    update_run(run, read_run(run))
    finish(run)
    assert differences(whole, effects(run)) == []


@pytest.mark.parametrize("item", ITEMS)
def test_without_one_item_something_differs(midway: Callable[..., Any], item: str) -> None:
    batches, stop, forget = ITEMS[item]
    run, whole = midway(batches, stop)
    parts = read_run(run)
    forget(parts)
    update_run(run, parts)
    finish(run)
    assert differences(whole, effects(run)) != []


def forget_discriminator(parts: Parts) -> None:
    weights = [n for n in parts["memory.safetensors"] if n.startswith("regime/weights/")]
    assert weights
    for name in weights:
        parts["memory.safetensors"][name] = np.zeros_like(parts["memory.safetensors"][name])


def test_without_the_discriminator_or_its_optimizer_something_differs(
    tmp_path: Path, data: Path
) -> None:
    settings = [*STREAM, "training.regime=professor-forcing", *REGIMES["professor-forcing"]]
    options: Any = {"data": str(data), "overrides": [*settings, "training.epochs=1"], "seed": 3}
    train(recipe(data), out=tmp_path / "whole", **options)
    with stop_at([8]), pytest.raises(Stopped):
        train(recipe(data), out=tmp_path / "stopped", **options)
    changes = {
        "nothing": lambda parts: None,
        "its optimizer": without("regime/optimizer/"),
        "its weights": forget_discriminator,
    }
    for forgotten, forget in changes.items():
        run = tmp_path / forgotten
        shutil.copytree(tmp_path / "stopped", run)
        parts = read_run(run)
        forget(parts)
        update_run(run, parts)
        finish(run)
        lost = [
            name
            for name in differences(effects(tmp_path / "whole"), effects(run))
            if "regime/" not in name
        ]  # of the model itself
        assert bool(lost) == (forgotten != "nothing"), forgotten


def test_every_number_of_a_snapshot_is_among_the_items(midway: Callable[..., Any]) -> None:
    run, _ = midway(STREAM, LATE)
    changed = {"best_step", "validated_step"}  # the one is only told, the other tested below
    changed |= {*METERED}  # below
    for batches, stop, forget in ITEMS.values():
        parts = read_run(midway(batches, stop)[0])
        before = copy.deepcopy(parts["training.json"]["trainer"])
        forget(parts)
        after = parts["training.json"]["trainer"]
        changed |= {name for name in before if before[name] != after[name]}
    assert changed == set(read_run(run)["training.json"]["trainer"])


METERED = ("operations", "validating_operations")


@pytest.mark.parametrize("name", METERED)
def test_operations_go_on_counting(midway: Callable[..., Any], name: str) -> None:
    """They change nothing else, so they are compared by themselves."""
    found = []
    for start in (None, 0.0):
        run, _ = midway(STREAM, LATE)
        parts = read_run(run)
        before = parts["training.json"]["trainer"][name]
        assert before > 0
        if start is not None:
            put(start, name)(parts)
            update_run(run, parts)
        finish(run)
        found.append(read_run(run)["training.json"]["trainer"][name])
    assert found[0] - found[1] == pytest.approx(before)


def test_a_finished_run_that_forgot_its_last_validation_validates_again(
    midway: Callable[..., Any],
) -> None:
    run, whole = midway(STREAM, LATE)
    finish(run)
    finish(run)
    assert differences(whole, effects(run)) == []
    parts = read_run(run)
    put(-1, "validated_step")(parts)
    update_run(run, parts)
    finish(run)
    assert differences(whole, effects(run)) != []
