"""A run that was stopped and resumed is the run that never stopped, to the last bit.

Every stop here is a real one: a signal in the middle of training, a checkpoint in a run folder, and
`resume`, which builds everything anew from that folder.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest
import torch

from elman.runs.folder import read_run, update_run
from elman.tasks import neural_training
from elman.tasks.language_model import load
from elman.tasks.neural_training import resume
from elman.tasks.training import train
from elman.training import loop
from elman.training.history import read_history
from elman.training.loop import Loop, Stopped
from elman.training.trainer import Diverged, Trainer

CELLS = ("elman", "gru", "lstm")
OPTIMIZERS = {
    "sgd": [
        "training.momentum=0.5",
        "training.learning_rate=2",
        "training.average=nt-asgd",
        "training.trigger=1",
    ],
    "adam": ["training.learning_rate=0.02", "training.average=ema", "training.average_decay=0.9"],
    "rmsprop": ["training.learning_rate=0.01", "training.momentum=0.3", "training.beta2=0.9"],
}
STREAM = ["training.window=7", "training.window_jitter=2"]
LINES = ["model.context=line"]
PARTS = {  # that have a memory, or learn from what is drawn
    "pointer": ["model.output=pointer", "model.output_options.pointer_window=5"],
    "maxent": ["model.output=maxent", "model.output_options={features = 99, samples = 6}"],
    "nce": ["model.output=nce", "model.output_options.samples=4"],
    "topics": ["model.topics=3", "model.topic_words=5"],
    "characters": ["model.input=characters", "model.tied=false"],
}
_REGIME = "training.regime_options."
REGIMES = {
    "free-running": [],
    "scheduled-sampling": [f"{_REGIME}final=0.2"],
    # It learns and is fooled in every step, so that there is something to lose.
    "professor-forcing": [
        f"{_REGIME}hidden_size=5",
        f"{_REGIME}learning_rate=0.01",
        f"{_REGIME}learn_below=1",
        f"{_REGIME}fool_above=0",
    ],
    "minimum-risk": [f"{_REGIME}samples=2"],
}
RECIPE = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
num_layers = 2
hidden_size = 7
embedding_size = 5
dropout_words = 0.1
dropout_input = 0.2
dropout_hidden = 0.2
dropout_output = 0.2
weight_drop = 0.2

[training]
batch_size = 4
clip = 0.5
schedule = "plateau"
epochs = 2.2
validate_every = 0.25
"""


@pytest.fixture(scope="module", autouse=True)
def light() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neural_training, "draw_curves", lambda records, path: None)
        patch.setattr(loop, "_HISTORY_STEPS", 6)
        yield


def write_text(folder: Path, likely: dict[str, np.ndarray]) -> Path:
    """Some 510 tokens to train on, in lines of many lengths; words by their probabilities."""
    drawn = np.random.default_rng(5)
    words = [f"w{number}" for number in range(12)]
    for split, lines in {"train": 78, "valid": 30}.items():
        odds = likely[split] / likely[split].sum()
        rows = [drawn.choice(words, drawn.integers(1, 11), p=odds) for _ in range(lines)]
        (folder / f"{split}.txt").write_text("".join(" ".join(row) + "\n" for row in rows))
    Path(recipe(folder)).write_text(RECIPE)
    return folder


def recipe(data: Path) -> str:
    """The recipe beside a text."""
    return str(data / ".recipe.toml")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    same = np.ones(12)
    return write_text(tmp_path_factory.mktemp("text"), {"train": same, "valid": same})


@pytest.fixture(scope="module")
def foreign_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The more is learned of it, the worse is validation."""
    rising = np.arange(1.0, 13) ** 2
    return write_text(tmp_path_factory.mktemp("text"), {"train": rising, "valid": rising[::-1]})


@contextmanager
def after_steps(act: Callable[[Trainer], None]) -> Iterator[None]:
    """Do something at the end of every step."""
    step = Trainer.step

    def acting(self: Trainer) -> Any:
        shown = step(self)
        act(self)
        return shown

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "step", acting)
        yield


def stop_at(steps: Any) -> Any:
    """A signal in each of these steps."""

    def act(trainer: Trainer) -> None:
        if trainer.step_number in steps:
            signal.raise_signal(signal.SIGTERM)

    return after_steps(act)


def train_with_stops(out: Path, data: Path, overrides: list[str], steps: Any) -> int:
    """Train, resuming after every stop; how often it stopped."""
    stops = 0
    with stop_at(steps):
        try:
            train(recipe(data), data=str(data), out=out, overrides=overrides, seed=3)
            return stops
        except Stopped:
            stops += 1
        while True:
            try:
                resume(out)
                return stops
            except Stopped:
                stops += 1


def finish(out: Path) -> None:
    try:
        resume(out)
    except Stopped:
        pytest.fail("nothing asked to stop")


def outcome(out: Path) -> dict[str, Any]:
    """Everything that training left, in comparable form: arrays as bytes."""
    contents = read_run(out)
    found: dict[str, Any] = {}
    for name in ("weights.safetensors", "last.safetensors", "memory.safetensors"):
        for key, array in contents[name].items():
            found[f"{name}: {key}"] = (str(array.dtype), array.shape, array.tobytes())
    found |= contents["training.json"]["trainer"]
    found["history"] = [
        {name: value for name, value in record.items() if name != "tokens_per_second"}
        for record in read_history(out)
    ]
    return found


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    names = sorted(first.keys() | second.keys())
    return [name for name in names if name not in first or first[name] != second.get(name)]


# Exact resume -----------------------------------------------------------------------------------


def prove_exact(tmp_path: Path, data: Path, overrides: list[str], every: int) -> None:
    train(recipe(data), data=str(data), out=tmp_path / "straight", overrides=overrides, seed=3)
    whole = outcome(tmp_path / "straight")
    assert whole["step"] >= 40
    assert whole["validations"] >= 8
    stops = train_with_stops(tmp_path / "stopped", data, overrides, range(0, 1000, every))
    assert stops >= (whole["step"] - 1) // every
    assert differences(whole, outcome(tmp_path / "stopped")) == []
    if "training.average=nt-asgd" in overrides:
        averaged = [record["averaged"] for record in whole["history"] if "averaged" in record]
        assert averaged[1:-1].count(True) > 2  # there was something to lose, for a while
        assert averaged[0] is False


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_few_stops_leave_no_trace(tmp_path: Path, data: Path, optimizer: str) -> None:
    settings = [*STREAM, f"training.optimizer={optimizer}", *OPTIMIZERS[optimizer]]
    prove_exact(tmp_path, data, settings, 5)


def test_a_few_stops_leave_no_trace_with_lines(tmp_path: Path, data: Path) -> None:
    prove_exact(tmp_path, data, [*LINES, *OPTIMIZERS["sgd"]], 5)


@pytest.mark.parametrize("parts", PARTS)
def test_a_few_stops_leave_no_trace_in_what_looks_back(
    tmp_path: Path, data: Path, parts: str
) -> None:
    settings = [*STREAM, "training.optimizer=adam", *OPTIMIZERS["adam"], *PARTS[parts]]
    prove_exact(tmp_path, data, settings, 12)


@pytest.mark.parametrize("regime", REGIMES)
def test_a_few_stops_leave_no_trace_in_any_regime(tmp_path: Path, data: Path, regime: str) -> None:
    settings = [*STREAM, *OPTIMIZERS["sgd"], f"training.regime={regime}", *REGIMES[regime]]
    prove_exact(tmp_path, data, settings, 12)


@pytest.mark.slow
@pytest.mark.parametrize("batches", [STREAM, LINES], ids=["stream", "lines"])
@pytest.mark.parametrize("regime", REGIMES)
def test_a_stop_after_every_step_leaves_no_trace_in_any_regime(
    tmp_path: Path, data: Path, regime: str, batches: list[str]
) -> None:
    settings = [*batches, *OPTIMIZERS["sgd"], f"training.regime={regime}", *REGIMES[regime]]
    prove_exact(tmp_path, data, settings, 1)


@pytest.mark.slow
@pytest.mark.parametrize("batches", [STREAM, LINES], ids=["stream", "lines"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_stop_after_every_step_leaves_no_trace(
    tmp_path: Path, data: Path, cell: str, optimizer: str, batches: list[str]
) -> None:
    settings = [*batches, f"training.optimizer={optimizer}", *OPTIMIZERS[optimizer]]
    prove_exact(tmp_path, data, [*settings, f"model.cell={cell}"], 1)


# Every saved item is needed ---------------------------------------------------------------------

GUARDED = [
    *OPTIMIZERS["sgd"],
    "training.trigger=3",
    "training.schedule_patience=2",
    "training.patience=8",
    "training.epochs=4",
]
Parts = dict[str, Any]


@contextmanager
def diverging_at(step: int) -> Iterator[None]:
    """A step that goes wrong once, so that the rate is lowered."""
    original = Trainer.step
    gone_wrong = False

    def diverge(self: Trainer) -> Any:
        nonlocal gone_wrong
        if self.step_number + 1 == step and not gone_wrong:
            gone_wrong = True
            raise Diverged("on purpose")
        return original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "step", diverge)
        yield


@pytest.fixture(scope="module")
def midway(tmp_path_factory: pytest.TempPathFactory, foreign_data: Path) -> Callable[..., Any]:
    """Runs that were stopped in a step, as copies; and what the unstopped one came to."""
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
    """Weights, memory and history: what a lost item must show in."""
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
    for batches, stop, forget in ITEMS.values():
        parts = read_run(midway(batches, stop)[0])
        before = copy.deepcopy(parts["training.json"]["trainer"])
        forget(parts)
        after = parts["training.json"]["trainer"]
        changed |= {name for name in before if before[name] != after[name]}
    assert changed == set(read_run(run)["training.json"]["trainer"])


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


# Looking changes nothing ------------------------------------------------------------------------


def look(trainer: Trainer) -> None:
    """Evaluate, sample and take a snapshot."""
    model = trainer.model.eval()
    with torch.no_grad():
        state = model.start(3)
        for _ in range(4):
            drawn = torch.multinomial(model.predict(state).exp(), 1)
            state = model.read(drawn, state)
        model.score(torch.zeros((2, 5), dtype=torch.long), model.start(2))
    trainer.snapshot()


def test_looking_and_saving_after_every_step_changes_nothing(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = [*STREAM, *OPTIMIZERS["sgd"], "training.epochs=1.2"]
    train(recipe(data), data=str(data), out=tmp_path / "plain", overrides=overrides)
    plain = outcome(tmp_path / "plain")
    monkeypatch.setattr(neural_training, "Loop", partial(Loop, after_step=look))
    monkeypatch.setattr(Loop, "_saving_due", lambda self: True)
    train(recipe(data), data=str(data), out=tmp_path / "watched", overrides=overrides)
    assert differences(plain, outcome(tmp_path / "watched")) == []
    monkeypatch.setattr(loop, "undisturbed", nullcontext)  # the test sees a disturbance
    train(recipe(data), data=str(data), out=tmp_path / "disturbed", overrides=overrides)
    assert differences(plain, outcome(tmp_path / "disturbed")) != []


# Killed -----------------------------------------------------------------------------------------

# Trains in children that are forked, so that each is there at once, and notes what is done.
NURSERY = """
import json, os, sys, traceback
import torch
torch.set_num_threads(1)
from pathlib import Path
from elman.tasks import neural_training
from elman.tasks.training import train
from elman.training import loop, trainer
loop._SAVING_SHARE, loop._HISTORY_STEPS = 0, 6
torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]).step()  # imports for seconds, once
neural_training.draw_curves = lambda records, path: None
print("ready", flush=True)
for line in sys.stdin:
    command = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            notes = os.open(command["notes"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            step, save = trainer.Trainer.step, loop.Loop._save
            def noted_step(self):
                shown = step(self)
                os.write(notes, f"step {self.step_number}\\n".encode())
                return shown
            def noted_save(self):
                save(self)
                os.write(notes, f"saved {self.trainer.step_number}\\n".encode())
            trainer.Trainer.step, loop.Loop._save = noted_step, noted_save
            out = Path(command["out"])
            if out.exists():
                neural_training.resume(out)
            else:
                train(out=out, seed=3, **command["options"])
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Nursery:
    """Starts trainings and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # so that `select` sees all there is
        )
        assert self._answer() == b"ready"

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def train(self, command: dict[str, Any], seconds: float | None) -> int:
        """Train until killed after so many seconds; 0, or the signal that ended it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        child = int(self._answer())
        if seconds is not None and not select([self._process.stdout], [], [], seconds)[0]:
            # It may just have ended by itself, but nobody else can have its number so soon.
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return int(self._answer())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(10) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def last_noted(notes: Path, what: str) -> int:
    lines = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
    return next((int(number) for name, number in reversed(lines) if name == what), 0)


def kill_often(nursery: Nursery, place: Path, data: Path, kills: int) -> None:
    """Kill trainings at random moments; when one gets through, it must be as if never killed."""
    drawn = random.Random(0)
    settings = [*STREAM, *OPTIMIZERS["sgd"]]
    settings += ["training.save_minutes=0", "training.epochs=0.7"]
    options = {"recipe": recipe(data), "data": str(data), "overrides": settings}
    command: dict[str, Any] = {"options": options}
    straight = place / "straight"
    command |= {"out": str(straight), "notes": str(place / "straight-notes")}
    begun = time.perf_counter()
    assert nursery.train(command, None) == 0
    life = time.perf_counter() - begun
    whole = outcome(straight)
    killed = runs = 0
    out = notes = place
    while killed < kills or out.exists():
        if not out.exists() or out == place:
            runs += 1
            out, notes = place / f"run{runs}", place / f"notes{runs}"
        command |= {"out": str(out), "notes": str(notes)}
        moment = drawn.uniform(0, life) if killed < kills else None
        status = nursery.train(command, moment)
        if status == 0:
            assert differences(whole, outcome(out)) == []
            shutil.rmtree(out)
            continue
        assert status == signal.SIGKILL
        killed += 1
        if not out.exists():
            assert last_noted(notes, "step") == 0
            continue
        parts = read_run(out)  # every file is whole
        assert {"last.safetensors", "weights.safetensors"} <= parts.keys()
        assert load(out).model is not None
        step = parts["training.json"]["trainer"]["step"]
        assert step >= last_noted(notes, "saved")
        assert step >= last_noted(notes, "step") - 1  # every step is a checkpoint
    assert killed == kills


def test_killed_at_a_few_random_moments(nursery: Nursery, tmp_path: Path, data: Path) -> None:
    kill_often(nursery, tmp_path, data, 8)


@pytest.mark.slow
def test_killed_at_a_hundred_random_moments(nursery: Nursery, tmp_path: Path, data: Path) -> None:
    kill_often(nursery, tmp_path, data, 100)
