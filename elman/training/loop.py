"""The training loop: steps, validations, checkpoints, recovery, and stopping on a signal.

Takes a `Trainer` and a function that saves snapshots, gives a trained model. Snapshots are saved
every few minutes, after every better validation, when a signal asks to stop, and at the end.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from elman.errors import ElmanError
from elman.training.counters import Meter
from elman.training.divergence import Diverged, WorseThanUniform, refuse_worse_than_uniform
from elman.training.history import Record
from elman.training.progress import TrainingProgress
from elman.training.snapshot import Snapshot
from elman.training.trainer import Trainer, undisturbed

_TRIES = 3  # from one good checkpoint
_LOWER = 0.5  # factor of the learning rate after a divergence
_SAVING_SHARE = 20  # saving takes at most a twentieth of the time
_PROGRESS_SECONDS = 1.0
_HISTORY_STEPS = 50  # steps per training record in the history
_SAME_CTRL_C = 0.2  # seconds in which a second Ctrl-C is an echo of the first


class Stopped(ElmanError):
    """A signal asked to stop; a snapshot was saved first."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number
        self.exit_code = 128 + number


class _Interrupted(Exception):
    """A signal asked to stop during validation."""


class Loop:
    """Runs a training from its current position to its end."""

    def __init__(
        self,
        trainer: Trainer,
        *,
        save: Callable[[Snapshot], None],
        record: Callable[[Record], None],
        progress: Callable[[TrainingProgress], None],
        after_step: Callable[[Trainer], None] = lambda trainer: None,
    ) -> None:
        self.trainer = trainer
        self._save_snapshot = save
        self._record = record
        self._progress = progress
        self._after_step = after_step
        self._saved: Snapshot | None = None
        self._good: Snapshot | None = None  # the last snapshot that was followed by a good step
        self._tries = 0  # from the good snapshot
        self._first: Snapshot | None = None  # until a validation was better than a uniform guess
        self._restarts = 0  # from the first snapshot
        self._asked: list[int] = []  # signals to stop
        self._learned = -math.inf  # nats per token of training, in the last record
        self._saved_at = time.perf_counter()
        self._saving_takes = 0.0
        self._last_validation: float | None = None
        self._shown_at = time.perf_counter()
        self._start_clock()

    def run(self) -> None:
        """Run the rest of the training; a snapshot of its start is already saved."""
        with _signals(self.trainer.processes.count == 1) as asked:
            self._asked = asked
            self._saved = self._good = self._first = self.trainer.snapshot()
            while not self._done():
                self._recovering(self._advance)
                self._recovering(lambda: self._heed(asked))

    def _recovering(self, act: Callable[[], None]) -> None:
        try:
            act()
        except WorseThanUniform as problem:
            self._restart(problem)
        except Diverged as problem:
            self._recover(problem)
        except _Interrupted:
            pass  # a run resumed from the next snapshot validates first

    def _heed(self, asked: list[int]) -> None:
        """Save if it is time, and stop if a signal asked for it."""
        # Clocks and signals differ between processes, but their decisions must not.
        wishes = asked[0] if asked else 0, int(self._saving_due())
        number, saving = self.trainer.processes.largest(*wishes)
        if (number or saving) and not self._done():
            self._save()
            if number:
                raise Stopped("stopped", number)

    def _done(self) -> bool:
        counters = self.trainer.counters
        return self.trainer.finished and counters.validated_step == counters.step

    def _advance(self) -> None:
        """Take a step, if one is left, and validate if it is time."""
        trainer = self.trainer
        if not trainer.finished and not self._validation_missed():
            self._timed_tokens += trainer.step().read
            self._trust_saved()
            if time.perf_counter() - self._shown_at > _PROGRESS_SECONDS:
                self._show_progress()
            if trainer.counters.step % _HISTORY_STEPS == 0:
                self._write_down()
            with undisturbed():
                self._after_step(trainer)
        if trainer.finished or self._validation_due():
            self._validate()

    # Reports and validations ----------------------------------------------------------------------

    def _start_clock(self) -> None:
        self._started = time.perf_counter()
        self._timed_tokens = 0

    def _tokens_per_second(self) -> float:
        return self._timed_tokens / max(time.perf_counter() - self._started, 1e-9)

    def _show_progress(self) -> None:
        """Report the progress, about once a second."""
        self._shown_at = time.perf_counter()
        trainer, meter = self.trainer, self.trainer.counters.meter
        speed = self._tokens_per_second()
        left = max(0.0, trainer.config.epochs - trainer.epochs_done)
        tokens_left = left * trainer.batches.tokens_per_epoch
        self._progress(
            TrainingProgress(
                epochs=trainer.epochs_done,
                of_epochs=trainer.config.epochs,
                tokens_per_second=speed,
                perplexity=perplexity(meter.nats / max(meter.tokens, 1)),
                validation=self._last_validation,
                judged_by=getattr(trainer.model, "judged_by", "perplexity"),
                seconds_left=tokens_left / max(speed, 1e-9),
                unit=getattr(trainer.model, "unit", "tokens"),
            )
        )

    def _moment(self) -> Record:
        """The time: the first fields of every record."""
        return {"step": self.trainer.counters.step, "epoch": self.trainer.epochs_done}

    def _write_down(self) -> None:
        """Record the steps since the last record."""
        self._show_progress()
        trainer, meter = self.trainer, self.trainer.counters.meter
        self._learned = meter.nats / max(meter.tokens, 1)
        self._record(
            {
                **self._moment(),
                "train_perplexity": perplexity(self._learned),
                "learning_rate": meter.learning_rate,
                "gradient_norm": meter.norms / meter.steps,
                "largest_gradient_norm": meter.largest_norm,
                "clipped": meter.clipped / meter.steps,
                "tokens_per_second": round(self._tokens_per_second(), 1),
            }
        )
        trainer.counters.meter = Meter()
        self._start_clock()

    def _validation_due(self) -> bool:
        trainer = self.trainer
        done = min(trainer.epochs_done, trainer.config.epochs)
        # Slightly early rather than late: a sum of many fractions of an epoch is not exact.
        return (
            math.floor(done / trainer.config.validate_every + 1e-9) > trainer.counters.validations
        )

    def _validation_missed(self) -> bool:
        """Whether a signal interrupted the validation after this step."""
        counters = self.trainer.counters
        return self._validation_due() and counters.validated_step != counters.step

    def _heed_signals(self) -> None:
        """Called between the batches of a validation; all processes stop after the same batch."""
        (number,) = self.trainer.processes.largest(self._asked[0] if self._asked else 0)
        if number:
            raise _Interrupted

    def _validate(self) -> None:
        trainer = self.trainer
        if trainer.counters.meter.steps:
            self._write_down()
        judged_by = getattr(trainer.model, "judged_by", "perplexity")
        nats = trainer.validate(self._heed_signals)
        better = trainer.best_step == trainer.counters.step
        if nats is not None:
            self._last_validation = shown(nats, judged_by)
            self._record(
                {
                    **self._moment(),
                    f"valid_{judged_by}": self._last_validation,
                    "averaged": trainer.averages.weights is not None,
                    "best": better,
                }
            )
            best, finished = trainer.counters.best_nats, trainer.finished
            if refuse_worse_than_uniform(
                trainer.model, self._learned, nats, best, finished=finished
            ):
                self._first = None  # no restart will be needed
        if better or trainer.finished:
            self._save()
        self._start_clock()  # the speed counts training only

    # Saving and recovery --------------------------------------------------------------------------

    def _saving_due(self) -> bool:
        interval = max(self.trainer.config.save_minutes * 60, _SAVING_SHARE * self._saving_takes)
        return time.perf_counter() - self._saved_at >= interval

    def _save(self) -> None:
        snapshot = self.trainer.snapshot()
        if problem := self.trainer.problem(snapshot):
            raise Diverged(problem)
        self._write(snapshot)

    def _write(self, snapshot: Snapshot) -> None:
        started = time.perf_counter()
        self._saved = snapshot
        self._save_snapshot(snapshot)
        self._saved_at = time.perf_counter()
        self._saving_takes = self._saved_at - started
        self._started += self._saving_takes  # the speed counts training only

    def _trust_saved(self) -> None:
        """After a good step: the snapshot saved before it is a good one to return to."""
        if self._good is not self._saved:
            self._good, self._tries = self._saved, 0

    def _recover(self, problem: Diverged) -> None:
        """Return to the last good checkpoint, with a lower learning rate."""
        assert self._good is not None, "set before the first step"
        trainer = self.trainer
        step = trainer.counters.step + 1
        self._tries += 1
        if self._tries > _TRIES:
            raise ElmanError(
                f"training diverged ({problem}) in step {step}, and again after {_TRIES} returns "
                "to the last good checkpoint with a lower rate; the run holds that checkpoint. "
                "Lower training.learning_rate or training.clip and train again"
            )
        self._return_to(self._good, self._tries, problem)
        self._write(trainer.snapshot())  # with the lower rate, in place of the bad snapshot
        self._saved = self._good

    def _restart(self, problem: WorseThanUniform) -> None:
        """Restart from the first snapshot with a lower rate: no later one was good."""
        assert self._first is not None, "set until a validation was better"
        self._restarts += 1
        if self._restarts > _TRIES:
            self._write(self._first)
            raise ElmanError(
                f"training diverged: {problem}, also after {_TRIES} restarts with a lower rate; "
                "the run holds its initial weights. Lower training.learning_rate or "
                "training.clip and train again"
            )
        self._return_to(self._first, self._restarts, problem)
        self._good, self._tries = self.trainer.snapshot(), 0
        self._write(self._good)

    def _return_to(self, snapshot: Snapshot, tries: int, problem: Diverged) -> None:
        """Continue from a snapshot with a rate that falls with every try."""
        trainer = self.trainer
        step = trainer.counters.step + (not isinstance(problem, WorseThanUniform))
        trainer.restore(snapshot)
        trainer.counters.rate_factor = snapshot.data["rate_factor"] * _LOWER**tries
        self._record(
            {
                **self._moment(),
                "diverged_at_step": step,
                "problem": str(problem),
                "rate_factor": trainer.counters.rate_factor,
            }
        )
        self._start_clock()


def shown(judged: float, judged_by: str) -> float:
    """A validation result for display: nats as perplexity, errors as their share."""
    return perplexity(judged) if judged_by == "perplexity" else judged


def perplexity(nats: float) -> float:
    """The perplexity of so many nats per token; finite even for large values."""
    return math.exp(min(nats, 700))


@contextmanager
def _signals(alone: bool) -> Iterator[list[int]]:
    """Collect the signals that ask to stop; the current step is finished first.

    A second Ctrl-C stops at once. `alone`: no launcher, like torchrun, repeats the signal.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked  # Python delivers signals to the main thread only
        return
    first_at = 0.0

    def heed(number: int, frame: object) -> None:
        nonlocal first_at
        if not asked:
            first_at = time.monotonic()
        # A child of a shell may get the same Ctrl-C twice in an instant; people are slower.
        elif alone and number == signal.SIGINT and time.monotonic() - first_at > _SAME_CTRL_C:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, heed) for number in _stopping_signals()}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stopping_signals() -> list[signal.Signals]:
    """Ctrl-C, `kill`, and a closed terminal unless the process ignores it (`nohup`)."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) != signal.SIG_IGN:
        numbers.append(hangup)
    return numbers
