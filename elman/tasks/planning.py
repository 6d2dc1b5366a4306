"""Estimate the cost of a training before it starts: parameters, operations, memory, minutes.

Takes a trainer before its first step, returns a `Plan`; called by `gradient_task.py`. Operations
are those of the matrix products: a multiplication and an addition for every weight that a token
uses, once forward and twice backward.
Memory and minutes are measured: a few steps are trained on the same text and discarded.
"""

import math
from typing import Any

import torch

from elman.batches import Batch, Batches, Lines, Pairs, Stream
from elman.recipes import RunConfig
from elman.tasks.task import Plan
from elman.training.memory import needed_bytes, peak_gigabytes
from elman.training.probe import measure_speed
from elman.training.trainer import Trainer

_PROBE_SECONDS = 6.0
_PROBE_OPERATIONS = 1e10  # of a step that is measured, about a second
_VALIDATED_TOKENS = 100  # of a row of validation, about


def measure_plan(config: RunConfig, data: str, trainer: Trainer, notes: list[str]) -> Plan:
    """Measure a few steps and extrapolate."""
    narrowed = _narrow(trainer)
    measured = measure_speed(trainer, _PROBE_SECONDS)
    speed, validation_speed = measured.tokens_per_second, measured.validation_speed
    if message := measured.note():
        notes = [*notes, message]
    if narrowed is not None and math.isfinite(validation_speed):
        speed = _speed_of_whole(trainer, speed, validation_speed)
    if narrowed is not None:
        trainer.batches = narrowed
    training, model = trainer.config, trainer.model
    tokens = trainer.batches.tokens_per_epoch
    steps_per_epoch = trainer.batches.steps_per_epoch or (
        math.ceil(tokens / (training.batch_size * training.window))
        if narrowed is not None
        else trainer.counters.step / trainer.epochs_done
    )
    per_step = tokens / steps_per_epoch
    per_token = model.multiplications(round(per_step))
    validated = 0.0
    if trainer.validation is not None:
        times = training.epochs / training.validate_every
        validated = times * trainer.validation.tokens_per_epoch
    weights = sum(value.nbytes for value in model.state_dict().values())
    memory = sum(value.nbytes for value in trainer.memory().values())
    needed = needed_bytes(model, training) / 1e9
    peak = peak_gigabytes()
    validating = model.multiplications(round(per_step), learning=False)
    return Plan(
        recipe=config.recipe,
        data=data,
        parameters=model.facts()["parameters"],
        tokens=tokens,
        vocabulary_size=getattr(model, "vocabulary_size", None),
        epochs=training.epochs,
        steps=round(training.epochs * tokens / per_step),
        multiplications=per_token,
        teraflop=6e-12 * per_token * tokens * training.epochs,
        validation_teraflop=2e-12 * validating * validated,
        tokens_per_second=speed,
        gigaflops=6e-9 * per_token * speed,
        memory_gigabytes=None if peak is None else max(peak, needed),
        disk_megabytes=(2 * weights + memory) / 1e6,
        seconds=tokens * training.epochs / speed + validated / validation_speed,
        threads=torch.get_num_threads(),
        notes=notes,
        unit=getattr(model, "unit", "tokens"),
    )


class _Narrow(Batches):
    """The first rows of batches."""

    def __init__(self, batches: Batches, rows: int) -> None:
        self.batches = batches
        self._rows = slice(0, rows)
        self.carries_state = batches.carries_state
        self.tokens_per_epoch = batches.tokens_per_epoch

    def next(self) -> Batch | None:
        batch = self.batches.next()
        return None if batch is None else batch.rows(self._rows)

    def position(self) -> dict[str, Any]:
        return self.batches.position()

    def go_to(self, position: dict[str, Any]) -> None:
        self.batches.go_to(position)


def _narrow(trainer: Trainer) -> Batches | None:
    """Measure with fewer rows if a step would take many seconds, as with a vocabulary of 400,000
    words; the batches stay unchanged.
    """
    size = trainer.config.batch_size
    per_step = size * trainer.config.window
    if not isinstance(trainer.batches, Stream | Lines | Pairs):
        return None
    if trainer.validation is not None:
        tokens = size * _VALIDATED_TOKENS
        judging = 2 * trainer.model.multiplications(per_step, learning=False) * tokens
        if judging > _PROBE_OPERATIONS:
            rows = max(1, int(size * _PROBE_OPERATIONS / judging))
            trainer.validation = _Narrow(trainer.validation, rows)
    cost = 6 * trainer.model.multiplications(per_step) * per_step
    if cost <= _PROBE_OPERATIONS:
        return None
    rows = max(1, int(size * _PROBE_OPERATIONS / cost))
    whole, trainer.batches = trainer.batches, _Narrow(trainer.batches, rows)
    return whole


def _speed_of_whole(trainer: Trainer, speed: float, validation_speed: float) -> float:
    """Tokens per second of whole batches: the further rows cost what their operations take at the
    rate of validation; the rest of a step, which is the same for any number of rows, was measured.
    """
    model, whole = trainer.model, trainer.config.batch_size * trainer.config.window
    narrow = trainer.counters.tokens_in_epoch / trainer.counters.step
    rate = 2 * model.multiplications(whole, learning=False) * validation_speed
    further = 6 * model.multiplications(whole) * (whole - narrow) / rate
    return whole / (narrow / speed + further)
