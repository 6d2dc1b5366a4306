"""Measure how fast a training runs here: a few steps and a few batches of a validation.

Takes a trainer before its first step, gives a `Speed`; the trainer is used up by it. Called where a
training is planned. Steps are repeated until the last of them are equally fast. A machine that
other programs use too is noticed: the process gets less processor time than time passes.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass

import torch

from elman.batches import Batches
from elman.training.trainer import Trainer, undisturbed

_WARM_UP_STEPS = 2
_MOST_STEPS = 2000
_ROUNDS = 3  # rounds of steps that must be equally fast
_ALIKE = 0.07  # largest relative difference of their speeds
_SHARE_OF_ROUND = 0.12  # of the time of the measurement
_BUSY = 0.9  # share of the time that the process runs, below which others take it away
_VALIDATED = 8  # batches of a validation


@dataclass(frozen=True)
class Speed:
    """What was measured."""

    tokens_per_second: float  # of training
    validation_speed: float  # tokens per second of a validation
    steady: bool  # whether the last rounds of steps were equally fast
    running: float  # share of the time in which the process ran

    def note(self) -> str | None:
        """A warning if the measurement says little about a longer training."""
        if self.running < _BUSY:
            return (
                f"the machine is busy: other programs took {1 - self.running:.0%} of the time of "
                "this measurement, so the time of the training is uncertain"
            )
        if not self.steady:
            return "the speed of the measured steps varies, so the time is uncertain"
        return None


def measure_speed(trainer: Trainer, seconds: float) -> Speed:
    """Train for so many seconds at most, then validate a few batches."""
    started = time.perf_counter()
    for _ in range(_WARM_UP_STEPS):
        trainer.step()
        if time.perf_counter() - started > seconds / 2:
            break
    begun, ran = time.perf_counter(), time.thread_time()
    speeds: list[float] = []
    tokens = steps = 0
    while steps < _MOST_STEPS:
        read, round_begun, least = 0, time.perf_counter(), seconds * _SHARE_OF_ROUND
        while time.perf_counter() - round_begun < least or not read:
            read += trainer.step().read
            steps += 1
        now = time.perf_counter()
        speeds.append(read / (now - round_begun))
        tokens += read
        if now - begun >= seconds or (now - begun >= seconds / 2 and _are_alike(speeds)):
            break
    passed = time.perf_counter() - begun
    return Speed(
        tokens / passed,
        _validation_speed(trainer),
        _are_alike(speeds),
        min(1.0, (time.thread_time() - ran) / passed) if trainer.device.type == "cpu" else 1.0,
    )


def _are_alike(speeds: list[float]) -> bool:
    """Whether the last rounds were equally fast."""
    last = speeds[-_ROUNDS:]
    return len(last) == _ROUNDS and max(last) - min(last) <= _ALIKE * max(last)


def _validation_speed(trainer: Trainer) -> float:
    """Tokens per second, of batches from all over the validation data.

    They are sorted by length there, so the first ones alone would mislead.
    """
    validation = trainer.validation
    if validation is None:
        return math.inf
    judge = getattr(trainer.model, "judge", trainer.model.loss)
    position = validation.position()
    tokens, seconds = 0, 0.0
    trainer.model.eval()
    with undisturbed(), torch.no_grad():
        every = _batches_between(validation)
        for number in itertools.count():
            batch = validation.next()
            if batch is None:
                break
            if number % every and tokens:
                continue
            batch = batch.to(trainer.device)
            if not tokens:
                judge(batch, None)  # the first pass allocates memory
            begun = time.perf_counter()
            judge(batch, None)
            seconds += time.perf_counter() - begun
            tokens += batch.tokens
    validation.go_to(position)
    return tokens / max(seconds, 1e-9)


def _batches_between(validation: Batches) -> int:
    """Of how many batches one is measured."""
    position = validation.position()
    first = validation.next()
    validation.go_to(position)
    if first is None:
        return 1
    batches = validation.steps_per_epoch or validation.tokens_per_epoch / max(first.tokens, 1)
    return max(1, round(batches / _VALIDATED))
