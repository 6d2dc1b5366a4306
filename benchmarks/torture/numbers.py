"""NaN and infinity in loss, gradient, weight, state and validation: never saved, never a traceback.

A number in the training process is replaced, once or repeatedly, from a random step on.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from elman.state import map_state
from elman.training.trainer import Trainer
from torture.commands import Command, prepare
from torture.material import KINDS, write_texts
from torture.outcomes import all_finite
from torture.tally import Tally

ABOUT = "NaN or infinity in loss, gradient, weight, state or validation: never saved, no traceback"
TRIALS = 200
_PLACES = ("loss", "gradient", "weight", "state", "validation")
_KINDS = ("lstm", "classes", "window", "tagger", "classifier", "translator")


def attempt(trials: int, seed: int, place: Path) -> Tally:
    """Put NaN and infinity into trainings."""
    drawn, tally = random.Random(seed), Tally()
    prepare()
    write_texts(place)
    for number in range(trials):
        where, kind = _PLACES[number % len(_PLACES)], drawn.choice(_KINDS)
        value = drawn.choice([float("nan"), float("inf"), float("-inf")])
        step, times = drawn.randint(1, 12), drawn.choice([1, 2, 10**6])
        run = place / "run"
        shutil.rmtree(run, ignore_errors=True)
        settings = drawn.choice([[], ["training.save_minutes=0"]])
        command = KINDS[kind].train(place, run, *settings)
        ended = Command(command, place, before=_spoil(where, value, step, times)).wait()
        what = f"{number}: {kind}, {value} in the {where} of step {step}, {times} times"
        if ended.traceback or ended.code not in (0, 1) or (ended.code and not ended.one_line):
            tally.bad("traceback", f"{what}: {ended.code} {ended.err[-600:]}")
        elif not all_finite(run):
            tally.bad("saved", what)
        else:
            tally.good("given up in one line" if ended.code else "recovered")
    return tally


def _spoil(where: str, value: float, step: int, times: int) -> Callable[[], None]:
    """A function that patches the child process before it trains."""

    def patch() -> None:
        left = times

        def due(trainer: Trainer) -> bool:
            nonlocal left
            left -= trainer.counters.step >= step and left > 0
            return trainer.counters.step >= step and left >= 0 and times > 0

        {"loss": _in_loss, "gradient": _in_gradient, "weight": _in_weight}.get(
            where, _in_validation if where == "validation" else _in_state
        )(due, value)

    return patch


def _in_loss(due: Any, value: float) -> None:
    backward = Trainer._backward

    def spoiled(self: Trainer, batch: Any) -> Any:
        carried, nats, tokens = backward(self, batch)
        return carried, value if due(self) else nats, tokens

    Trainer._backward = spoiled  # type: ignore[method-assign]


def _in_gradient(due: Any, value: float) -> None:
    clip = Trainer._clip

    def spoiled(self: Trainer) -> float:
        if due(self):
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.view(-1)[0] = value
                    break
        return clip(self)

    Trainer._clip = spoiled  # type: ignore[method-assign]


def _in_weight(due: Any, value: float) -> None:
    step = Trainer.step

    def spoiled(self: Trainer) -> Any:
        shown = step(self)
        if due(self):
            with torch.no_grad():
                next(self.model.parameters()).view(-1)[0] = value
        return shown

    Trainer.step = spoiled  # type: ignore[method-assign]


def _in_state(due: Any, value: float) -> None:
    step = Trainer.step

    def spoiled(self: Trainer) -> Any:
        shown = step(self)
        if due(self) and self.carried is not None:
            self.carried = map_state(
                lambda t: torch.full_like(t, value) if t.is_floating_point() else t, self.carried
            )
        return shown

    Trainer.step = spoiled  # type: ignore[method-assign]


def _in_validation(due: Any, value: float) -> None:
    judge = Trainer._judge

    def spoiled(self: Trainer, *arguments: Any) -> float:
        found = judge(self, *arguments)
        return value if due(self) else found

    Trainer._judge = spoiled  # type: ignore[method-assign]
