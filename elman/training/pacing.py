"""End a training in time: its number of epochs follows the speed that it really has.

Takes a moment at which everything must be done. After every step, the pacer compares the time left
with the speed of the last steps and the time of a validation, and lengthens or shortens the
training. Schedules depend on the share of the training that is done, so the learning rate falls to
its end whatever the speed was. Called by the loop through `tasks/training_run.py`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from elman.training.trainer import Trainer

_BETWEEN = 0.5  # seconds between two changes
_CHANGE = 0.01  # smallest relative change of the epochs
_MEMORY = 20.0  # seconds of training whose speed counts in full; older ones count half and less
_PAUSES = 3  # validations whose time counts
_TRUSTED = 2.0  # seconds of training before its speed replaces the measured one


class Pacer:
    """Sets the epochs of a trainer so that it ends at a moment of the monotonic clock."""

    def __init__(
        self,
        end: float,
        *,
        validation_seconds: float,
        ending_seconds: float,
        most_epochs: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`validation_seconds`: of one validation, as measured before; `ending_seconds`: of what
        comes after the last one; `most_epochs`: as many as the data can use.
        """
        self._end = end
        self._pauses = [validation_seconds]  # of validations, with saving
        self._ending = ending_seconds
        self._most = most_epochs
        self._clock = clock
        self._last: tuple[float, float, int] | None = None  # time, epochs, validations
        self._seconds = self._epochs = 0.0  # of training, fading
        self._changed_at = 0.0

    @property
    def _pause(self) -> float:
        """Seconds of a validation: the lower median of the last, since the first one that is saved
        also draws the curves.
        """
        return statistics.median_low(self._pauses[-_PAUSES:])

    def __call__(self, trainer: Trainer) -> None:
        """Adapt the training after a step."""
        now, done, validations = self._clock(), trainer.epochs_done, trainer.counters.validations
        self._observe(now, done, validations)
        wished = self._epochs_in_time(trainer, now, done)
        # The clocks of several processes differ, but their decisions must not.
        wished = trainer.processes.first(wished)
        if wished != trainer.config.epochs:
            self._changed_at = now
            trainer.set_epochs(wished)

    def _observe(self, now: float, done: float, validations: int) -> None:
        """Add the time since the last step to training, or to validation and saving."""
        if self._last is not None:
            before, epochs, validated = self._last
            passed, trained = now - before, done - epochs
            if validations == validated:
                self._seconds, self._epochs = self._seconds + passed, self._epochs + trained
            else:
                step = self._seconds / self._epochs * trained if self._epochs > 0 else 0.0
                self._pauses.append(max(passed - step, 0.0))
        self._last = now, done, validations
        if self._seconds > 2 * _MEMORY:
            self._seconds, self._epochs = self._seconds / 2, self._epochs / 2

    def _epochs_in_time(self, trainer: Trainer, now: float, done: float) -> float:
        """The epochs after which the training should end; the present ones if little changes."""
        planned = trainer.config.epochs
        left = self._end - now - self._ending
        if left <= self._pause:
            return min(planned, done)  # validate, save and end now
        if self._seconds < _TRUSTED or self._epochs <= 0 or now - self._changed_at < _BETWEEN:
            return planned
        # A validation belongs to every `validate_every` epochs; the last one comes at the end.
        per_epoch = self._seconds / self._epochs + self._pause / trainer.config.validate_every
        reached = min(done + (left - self._pause) / per_epoch, max(self._most, done))
        return reached if abs(reached - planned) > _CHANGE * planned else planned
