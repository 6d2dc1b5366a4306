"""A training in steps and its run folder: checkpoints, history and facts while the loop runs.

Takes a trainer and a run folder, and leaves the model with its best weights. Only the first of
several processes writes. Called by `gradient_task.py`. `training/checkpoints.py` describes a
checkpoint on disk.
"""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from elman.errors import ElmanError
from elman.recipes import RunConfig
from elman.runs.claim import Claim, claimed
from elman.runs.folder import explained, fill, update_run
from elman.runs.lock import Lock
from elman.tasks.budgeted import Pace
from elman.tasks.saved_runs import keep_plugins
from elman.tasks.trivial import Trivial, comparison
from elman.tasks.word_checkpoints import make_checkpoints
from elman.training.checkpoints import arrays, checkpoint
from elman.training.history import CURVES, History, Record, draw_curves, still_improving
from elman.training.loop import Loop, Stopped, shown
from elman.training.machine import Machine
from elman.training.processes import WorkerLost
from elman.training.snapshot import Snapshot
from elman.training.trainer import Trainer

_ALL = 10**9  # no limit to the examples of validation, or to the epochs
_JUDGEMENTS = ("calibration", "trivial")  # facts about the best weights, made at the end
_DRAWING_SECONDS = 60.0  # between pictures of the curves


class TrainingRun:
    """A training and its run folder, if it has one."""

    def __init__(
        self,
        trainer: Trainer,
        config: RunConfig,
        parts: dict[str, Any],
        facts: dict[str, Any],
        machine: Machine,
        out: Path | None,
    ) -> None:
        """`parts`: files of the run folder that stay the same, like `tokenizer.json`."""
        self.trainer = trainer
        self.config = config
        self.parts = parts
        self.facts = facts
        self.machine = machine
        self.processes = machine.processes
        self.out = out
        self._folder = out if self.processes.rank == 0 else None  # that this process writes to
        self.calibrate: Callable[[Any], dict[str, Any]] = lambda model: {}  # after the last step
        self.trivial: Callable[[], Trivial | None] = lambda: None  # to compare with
        self.facts["model"] = trainer.model.facts()
        # What the facts in the folder say of the weights before a run was continued.
        self._judged = {name: facts.pop(name) for name in _JUDGEMENTS if name in facts}
        keep_plugins(self.facts, config)
        self._lock: Lock | None = None  # of the folder
        self._claim: Claim | None = None  # of a run that is not in its place yet
        self._history: History | None = None
        self._writer: Any = None  # of TensorBoard
        self._saved_best = -1  # the step of the best weights in the folder
        self._unsaved: dict[str, Any] = {}  # further files for the next checkpoint
        self._since = time.perf_counter()
        self._drawn = 0.0
        self._pace: Pace | None = None  # of a training with a budget

    def keep_pace(self, pace: Pace, *, new: bool = False) -> None:
        """Stay within a budget; `new`: another one than the run was started with."""
        self._pace = pace
        if new:
            budget, before = pace.allowance.budget, self.facts.get("budget", {})
            unknown = {"validated": _ALL, "most_epochs": _ALL}
            self.facts["budget"] = {
                **unknown,
                **before,
                "seconds": budget.seconds,
                "teraflop": budget.teraflop,
                "used": 0.0,
                "teraflop_before": self.facts.get("training", {}).get("teraflop", 0.0),
            }

    def start(self, overwrite: bool) -> None:
        """Train in a new run folder, from the first step to the end.

        An existing run of this name is replaced when the new run has its first checkpoint.
        """
        if self.out is None:
            self.train()
            return
        snapshot = self._whole(self.trainer.snapshot())
        if self._folder is None:
            self.train()
            return
        contents = {"config.json": self.config.to_data(), **self.parts, **self._changed(snapshot)}
        with ExitStack() as held:
            with explained(self.out, contents):
                claim = held.enter_context(claimed(self.out, overwrite=overwrite))
                fill(claim.folder, contents)
                if not claim.replaces:
                    claim.publish()
            self._claim, self._folder = claim, claim.folder
            try:
                self.train(lock=claim.lock)
            except ElmanError as error:
                if not claim.published:
                    error.args = (f"{error}; {self.out} still contains the previous run",)
                raise

    @property
    def name(self) -> str:
        return "model" if self.out is None else str(self.out)

    def train(
        self, records: int = 0, lock: Lock | None = None, *, new_settings: bool = False
    ) -> None:
        """Train to the end and load the best weights. `records`: the length of the history so far;
        `lock`: the lock of the run folder, if this process writes to it; `new_settings`: whether
        the next checkpoint must also replace the settings in the folder.
        """
        self._lock = lock
        if new_settings:
            self._unsaved = {"config.json": self.config.to_data()}
        try:
            self._train(records)
        except (Stopped, WorkerLost) as ended:
            if self.out is None or not self._in_place:
                raise
            go_on = f"continue with: {self.processes.resume_command(self.out)}"
            if isinstance(ended, Stopped):
                raise Stopped(f"stopped; everything is saved; {go_on}", ended.number) from None
            raise WorkerLost(f"{ended}; the last checkpoint is intact; {go_on}") from None
        model = self.trainer.model
        model.load_state_dict(self.trainer.best)
        model.cpu().eval()
        self._update_facts()
        self._judge(model)

    def _judge(self, model: Any) -> None:
        """Add the calibration of the best weights, and a trivial answer, to the facts.

        The validation result of a model whose answers were adjusted is measured again.
        """
        calibration, trivial = self.calibrate(model), self.trivial()
        validation = self.trainer.validation
        if getattr(model, "adjusted", False) and validation is not None:
            judged = self.trainer.judge(model, validation)
            self.facts["validation"][model.judged_by] = shown(judged, model.judged_by)
        found = {
            "calibration": calibration,
            "trivial": {} if trivial is None else comparison(trivial, self.facts["validation"]),
        }
        new = {name: value for name, value in found.items() if value}
        self.facts |= new
        if self._folder is not None and new != self._judged:
            update_run(self._folder, {"facts.json": self.facts}, self._lock)

    def _train(self, records: int) -> None:
        if self._folder is not None:
            self._history = History(self._folder, records)
            self._writer = self.machine.open_tensorboard(self._folder)
        loop = Loop(
            self.trainer,
            save=self._save,
            record=self._record,
            progress=self.machine.watch,
            **self._hooks(),
        )
        try:
            loop.run()
        except WorkerLost:
            self._history = None  # no time for curves: torchrun will soon end this process too
            raise
        finally:
            if self._writer is not None:
                self._writer.close()
            self._draw()

    def _hooks(self) -> dict[str, Any]:
        """A hook that keeps the pace of a budget and saves checkpoints by words seen, if needed."""
        checkpoints = make_checkpoints(self.trainer, self.facts)
        pacer = None if self._pace is None else self._pace.pacer
        if checkpoints is None and pacer is None:
            return {}

        def act(trainer: Trainer) -> None:
            if pacer is not None:
                pacer(trainer)
            if checkpoints is not None and self._folder is not None:
                for words in checkpoints.reached(trainer):
                    self._update_facts()
                    files = {"config.json": self.config.to_data(), **self.parts}
                    checkpoints.save(words, trainer, self._folder, files, self.facts)

        return {"after_step": act}

    def _record(self, entry: Record) -> None:
        self.machine.record(entry)
        if self._history is not None and self._lock is not None:
            self._lock.check()
            self._history.add(entry)
        if self._writer is not None:
            _write_scalars(self._writer, entry)

    def _save(self, snapshot: Snapshot) -> None:
        whole = self._whole(snapshot)
        if self._folder is not None:
            self._update(self._folder, whole)
            self._publish(whole)
            if time.perf_counter() - self._drawn > _DRAWING_SECONDS:
                self._draw()
                self._drawn = time.perf_counter()
        self.processes.largest(0)  # wait for all processes; now it is saved

    def _update(self, folder: Path, snapshot: Snapshot) -> None:
        try:
            update_run(folder, self._changed(snapshot), self._lock)
        except ElmanError as error:  # the disk is full, or the folder was removed
            self._saved_best = -1
            problem = str(error).replace(str(folder), self.name)
            if self._in_place:
                resume = self.processes.resume_command(folder)
                problem = f"{problem}; when this is fixed, continue with: {resume}"
            raise type(error)(problem) from None

    @property
    def _in_place(self) -> bool:
        """Whether the run folder has its final name."""
        return self._claim is None or self._claim.published

    def _publish(self, snapshot: Snapshot) -> None:
        """Replace an old run by the new one, once there is a checkpoint to resume from."""
        if self._claim is None or self._claim.published or snapshot.data["step"] == 0:
            return
        with explained(self._claim.path, {}):
            self._claim.publish()
        self._folder = self._claim.folder
        if self._history is not None:
            self._history.follow(self._folder)
        if self._writer is not None:
            self._writer.close()
            self._writer = self.machine.open_tensorboard(self._folder)

    def _whole(self, snapshot: Snapshot) -> Snapshot:
        """Add the random states of all processes, on the first process."""
        return replace(snapshot, memory=self.processes.gather(snapshot.memory))

    def _changed(self, snapshot: Snapshot) -> dict[str, Any]:
        """The files that a checkpoint writes; the best weights only if they have improved."""
        self._update_facts()
        self._judged = {}  # the new facts in the folder are without
        records = 0 if self._history is None else len(self._history.records)
        changed = {"facts.json": self.facts, **checkpoint(snapshot, self.processes, records)}
        changed |= self._unsaved
        self._unsaved = {}
        if self._pace is not None:  # the number of epochs may have changed
            batch_size = self.config.training.batch_size
            training = replace(self.trainer.config, batch_size=batch_size, min_steps=0)
            self.config = replace(self.config, training=training)
            changed["config.json"] = self.config.to_data()
        if snapshot.data["best_step"] != self._saved_best:
            changed["weights.safetensors"] = arrays(snapshot.best)
            self._saved_best = snapshot.data["best_step"]
        return changed

    def _draw(self) -> None:
        if self._history is not None and self._folder is not None:
            draw_curves(self._history.records, self._folder / CURVES)

    def _update_facts(self) -> None:
        now = time.perf_counter()
        self.facts["seconds"] = round(self.facts["seconds"] + now - self._since, 3)
        self._since = now
        trainer, counters = self.trainer, self.trainer.counters
        if self._pace is not None:
            patience = trainer.config.patience
            self.facts["budget"] |= {
                "used": round(self._pace.allowance.used, 1),
                "ended_early": 0 < patience <= counters.waited,
            }
        tokens = trainer.epochs_done * trainer.batches.tokens_per_epoch
        steps = max(counters.step, 1) * self.processes.count  # each of a share
        per_token = trainer.model.multiplications(round(tokens / steps))
        self.facts["training"] = {
            "epochs": round(trainer.epochs_done, 4),
            "steps": counters.step,
            "tokens": round(tokens),
            "teraflop": round(6e-12 * per_token * tokens, 3),
            "metered_teraflop": counters.operations / 1e12,  # summed over the steps
            "validating_teraflop": counters.validating_operations / 1e12,
            "finished": trainer.finished,
            "of_epochs": trainer.config.epochs,
            "batch_size": trainer.config.batch_size,
            "ended_early": trainer.ended_early,
            "improving": self._is_improving(),
        }
        if math.isfinite(counters.best_nats) and trainer.validation is not None:
            judged_by = getattr(trainer.model, "judged_by", "perplexity")
            self.facts["validation"] = {
                judged_by: shown(counters.best_nats, judged_by),
                "tokens": trainer.validation.learned_per_epoch,
            }

    def _is_improving(self) -> bool:
        """Whether all epochs are done and more epochs would probably give a better model."""
        trainer = self.trainer
        if self._history is None or trainer.ended_early or not trainer.finished:
            return False
        judged_by = getattr(trainer.model, "judged_by", "perplexity")
        return still_improving(self._history.records, judged_by)


def _write_scalars(writer: Any, entry: Record) -> None:
    """Write every number of a record to TensorBoard."""
    for name, value in entry.items():
        if isinstance(value, int | float) and name != "step":
            writer.add_scalar(name, value, entry["step"])
