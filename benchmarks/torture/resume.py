"""A training that is stopped at any moment continues as if it had not been stopped.

Covers every cell with every optimizer and every regime, and the other tasks. Each is trained once
without a stop, then again with stops at random moments (SIGKILL, or a signal that saves first). The
results of both must be identical to the last bit.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from itertools import product
from pathlib import Path

from elman.cells import CELLS
from elman.training import loop
from elman.training.optimizers import OPTIMIZERS
from elman.training.regimes import REGIMES
from torture.commands import Command, prepare
from torture.material import KINDS, write_texts
from torture.outcomes import differences, outcome
from torture.tally import Tally

ABOUT = "stopped at any moment and resumed: same bytes (every cell, optimizer, regime and task)"
TRIALS = 1000
_TASKS = ("window", "characters", "tagger", "classifier", "translator", "elmo")
_STOPS = 2  # per training
_SIGNALS = [signal.SIGKILL] * 3 + [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
_REGIME_OPTIONS = {
    "scheduled-sampling": ["final=0.2"],
    "professor-forcing": ["hidden_size=5", "learning_rate=0.01", "learn_below=1", "fool_above=0"],
    "minimum-risk": ["samples=2"],
}


def attempt(trials: int, seed: int, place: Path) -> Tally:
    """Stop trainings and resume them."""
    drawn, tally = random.Random(seed), Tally()
    prepare()
    loop._SAVING_SHARE, loop._HISTORY_STEPS = 0, 6  # type: ignore[misc]
    write_texts(place)
    made = _trainings()
    drawn.shuffle(made)
    number = 0
    while tally.trials < trials:
        name, kind, settings = made[number % len(made)]
        number += 1
        _stop_often(name, kind, settings, place, drawn, tally, trials)
    tally.figures["combinations"] = min(number, len(made))
    return tally


def _trainings() -> list[tuple[str, str, list[str]]]:
    found = []
    for cell, optimizer, regime in product(CELLS, OPTIMIZERS, REGIMES):
        settings = [f"model.cell={cell}", f"training.optimizer={optimizer}"]
        settings += [f"training.regime={regime}", "training.epochs=1", "model.num_layers=1"]
        settings += [f"training.learning_rate={0.5 if optimizer == 'sgd' else 0.01}"]
        settings += [
            f"training.regime_options.{option}" for option in _REGIME_OPTIONS.get(regime, [])
        ]
        found.append((f"{cell} {optimizer} {regime}", "plain", settings))
    per_task = max(1, len(found) // 40)
    found += [(task, task, []) for task in _TASKS for _ in range(per_task)]
    return found


def _stop_often(
    name: str,
    kind: str,
    settings: list[str],
    place: Path,
    drawn: random.Random,
    tally: Tally,
    trials: int,
) -> None:
    often = ["training.save_minutes=0", "training.validate_every=0.25", *settings]
    straight, out = place / "straight", place / "stopped"
    for old in (straight, out):
        shutil.rmtree(old, ignore_errors=True)
    train = KINDS[kind].train(place, straight, *often)
    ended = Command(train, place).wait()
    if ended.code:
        if ended.code != 2 or ended.traceback:
            tally.bad("training failed", f"{name}: {ended.err[-400:]}")
        tally.figures["refused combinations"] = tally.figures.get("refused combinations", 0) + 1
        return
    life, whole = ended.seconds, outcome(straight)
    train[train.index(str(straight))] = str(out)
    stops: list[str] = []
    for _ in range(100):
        command = Command(["train", "--resume", str(out)] if out.exists() else train, place)
        moment = time.monotonic() + drawn.uniform(0, life)
        number = drawn.choice(_SIGNALS)
        stopping = len(stops) < _STOPS
        while stopping and command.poll() is None and time.monotonic() < moment:
            time.sleep(0.002)
        if stopping and command.poll() is None:
            command.signal(number)
        ended = command.wait()
        if ended.code == 0:
            break
        if ended.traceback or ended.code not in (-number, 128 + number):
            tally.bad("traceback", f"{name} after {stops}: {ended.code} {ended.err[-400:]}")
            return
        stops.append(signal.Signals(number).name)
    wrong = differences(whole, outcome(out))
    for _ in range(min(len(stops), trials - tally.trials)):
        if wrong:
            tally.bad("different", f"{name} after {stops}: {wrong[:5]}")
        else:
            tally.good("same bytes")
