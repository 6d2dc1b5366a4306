"""The loop: steps, validations, checkpoints, recovery, and stopping when asked to.

Takes a `Trainer` and a place to save snapshots, gives a trained model. Whatever happens, the last
snapshot is whole: it is saved at the start, every few minutes, after every validation that was
better, when a signal asks to stop, and at the end.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from elman.errors import ElmanError
from elman.training.trainer import Diverged, Snapshot, Step, Trainer

_TRIES = 3  # from one checkpoint
_LOWER = 0.5  # times the rate, after a divergence
_SAVING_SHARE = 20  # saving takes at most one part in so many of the time
_HISTORY_STEPS = 50  # per record of training in the history

Record = dict[str, Any]


class Stopped(ElmanError):
    """A signal asked to stop; everything is saved."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


@dataclass
class Progress:
    """How far a training is, for whoever watches."""

    epochs: float
    of_epochs: float
    tokens_per_second: float
    perplexity: float  # of the last steps, on the training text
    validation: float | None  # perplexity
    seconds_left: float
    learning_rate: float


@dataclass
class _Meter:
    """Sums over the last steps."""

    nats: float = 0.0
    tokens: int = 0
    steps: int = 0
    clipped: int = 0
    norms: float = 0.0
    largest_norm: float = 0.0
    started: float = field(default_factory=time.perf_counter)

    def add(self, step: Step) -> None:
        self.nats += step.nats
        self.tokens += step.tokens
        self.steps += 1
        self.clipped += step.clipped
        self.norms += step.gradient_norm
        self.largest_norm = max(self.largest_norm, step.gradient_norm)


class Loop:
    """A training from where it is to its end."""

    def __init__(
        self,
        trainer: Trainer,
        *,
        save: Callable[[Snapshot], None],
        record: Callable[[Record], None],
        progress: Callable[[Progress], None],
        after_step: Callable[[Trainer], None] = lambda trainer: None,
    ) -> None:
        self.trainer = trainer
        self._save_snapshot = save
        self._record = record
        self._progress = progress
        self._after_step = after_step
        self._good: Snapshot | None = None
        self._tries = 0
        self._saved_at = time.perf_counter()
        self._saving_takes = 0.0
        self._last_validation: float | None = None
        self._meter = _Meter()
        self._speed = 0.0

    def run(self) -> None:
        """All steps that are left."""
        trainer = self.trainer
        with _signals() as asked:
            self._save()
            while not trainer.finished:
                try:
                    step = trainer.step()
                except Diverged as problem:
                    self._recover(problem)
                    continue
                self._note(step)
                self._after_step(trainer)
                if self._validation_due():
                    self._validate()
                elif self._saving_due():
                    self._save()
                if asked:
                    self._save()
                    raise Stopped("stopped, and everything is saved", asked[0])
            if trainer.validated_step != trainer.step_number:
                self._validate(always_save=True)

    # Now and then ---------------------------------------------------------------------------------

    def _note(self, step: Step) -> None:
        self._meter.add(step)
        trainer = self.trainer
        if trainer.step_number % _HISTORY_STEPS == 0:
            self._write_down(step.learning_rate)

    def _write_down(self, learning_rate: float) -> None:
        meter, trainer = self._meter, self.trainer
        seconds = time.perf_counter() - meter.started
        self._speed = meter.tokens / max(seconds, 1e-9)
        perplexity = _perplexity(meter.nats / meter.tokens)
        self._record(
            {
                "step": trainer.step_number,
                "epoch": trainer.epochs_done,
                "train_perplexity": perplexity,
                "learning_rate": learning_rate,
                "gradient_norm": meter.norms / meter.steps,
                "largest_gradient_norm": meter.largest_norm,
                "clipped": meter.clipped / meter.steps,
                "tokens_per_second": round(self._speed, 1),
            }
        )
        left = max(0.0, trainer.config.epochs - trainer.epochs_done)
        tokens_left = left * trainer.batches.tokens_per_epoch
        self._progress(
            Progress(
                epochs=trainer.epochs_done,
                of_epochs=trainer.config.epochs,
                tokens_per_second=self._speed,
                perplexity=perplexity,
                validation=self._last_validation,
                seconds_left=tokens_left / self._speed,
                learning_rate=learning_rate,
            )
        )
        self._meter = _Meter()

    def _validation_due(self) -> bool:
        trainer = self.trainer
        done = min(trainer.epochs_done, trainer.config.epochs)
        # A little early rather than late: the sum of many parts of an epoch is not exact.
        return math.floor(done / trainer.config.validate_every + 1e-9) > trainer.validations

    def _validate(self, always_save: bool = False) -> None:
        if self._meter.steps:
            self._write_down(self.trainer.optimizer.param_groups[0]["lr"])
        before = self.trainer.best_number
        nats = self.trainer.validate()
        if nats is not None:
            self._last_validation = _perplexity(nats)
            self._record(
                {
                    "step": self.trainer.step_number,
                    "epoch": self.trainer.epochs_done,
                    "valid_perplexity": self._last_validation,
                    "averaged": self.trainer.averages.weights is not None,
                    "best": self.trainer.best_number != before,
                }
            )
        self._meter = _Meter()
        if always_save or self._saving_due() or self.trainer.best_number != before:
            self._save()

    # Never losing work ----------------------------------------------------------------------------

    def _saving_due(self) -> bool:
        interval = max(self.trainer.config.save_minutes * 60, _SAVING_SHARE * self._saving_takes)
        return time.perf_counter() - self._saved_at >= interval

    def _save(self) -> None:
        started = time.perf_counter()
        self._good = self.trainer.snapshot()
        self._save_snapshot(self._good)
        self._tries = 0
        self._saved_at = time.perf_counter()
        self._saving_takes = self._saved_at - started
        self._meter.started += self._saving_takes  # speed is that of training

    def _recover(self, problem: Diverged) -> None:
        """Back to the last checkpoint, with a lower rate."""
        assert self._good is not None, "saved before the first step"
        self._tries += 1
        trainer = self.trainer
        if self._tries > _TRIES:
            raise ElmanError(
                f"training diverged ({problem}) in step {trainer.step_number + 1}, and again after "
                f"{_TRIES} returns to the last checkpoint with a lower rate; the run holds that "
                "checkpoint. Lower training.learning_rate or training.clip and train anew"
            )
        step = trainer.step_number + 1
        trainer.restore(self._good)
        trainer.rate_factor = self._good.data["rate_factor"] * _LOWER**self._tries
        self._record(
            {
                "step": trainer.step_number,
                "epoch": trainer.epochs_done,
                "diverged_at_step": step,
                "problem": str(problem),
                "rate_factor": trainer.rate_factor,
            }
        )
        self._meter = _Meter()


def _perplexity(nats: float) -> float:
    return math.exp(min(nats, 700))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The signals that asked to stop while inside: the step that is under way is finished first."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked  # Python hands signals to the main thread only
        return
    before = {
        number: signal.signal(number, lambda n, _: asked.append(n))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
