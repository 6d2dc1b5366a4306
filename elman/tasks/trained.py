"""A trained model with its task: the result of `elman.train` and `elman.load`.

Takes data and questions, returns measures and answers. Every task has its own subclass with
additional methods (`TrainedModel`, `TrainedTagger`, `TrainedTranslator` …).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from elman.errors import InputError, argument_errors
from elman.evaluation.measures import MeasureTable, Progress, TaskMeasures, silent
from elman.formats import Exported
from elman.models import MODELS
from elman.notebooks import Table, Tabular
from elman.recipes import RunConfig
from elman.runs.folder import write_run
from elman.tasks import TASKS
from elman.tasks.comparison import ScoredRun
from elman.tasks.exporting import export_run
from elman.tasks.question import Answer, Question, make_request
from elman.training.history import Records, criterion, read_history


class Trained(Tabular):
    """A task with its trained model."""

    about: ClassVar[str] = "a trained model"  # its description in messages
    confuses: ClassVar[bool] = False  # whether its measures include confusions
    calibrates: ClassVar[bool] = False  # whether its measures include a calibration
    task: Any  # a Task; subclasses name the class
    model: Any

    def __init__(self, task: Any, model: Any, facts: dict[str, Any], name: str = "model") -> None:
        self.task = task
        self.model = model
        self.facts = facts  # about the training: data, hashes, seconds, notes
        self.name = name
        self.folder = Path(name)  # of the run, even if messages use another name

    @property
    def config(self) -> RunConfig:
        config: RunConfig = self.task.config
        return config

    @property
    def questions(self) -> dict[str, Question]:
        """The questions that it can answer, by name."""
        every = TASKS[self._task_name()].load_questions()
        return {name: question for name, question in every.items() if question.able(self)}

    def question(self, name: str) -> Question:
        """One question by name; the others are not imported."""
        every = TASKS[self._task_name()].load_questions()
        if name in every and every[name].able(self):
            found: Question = every[name]
            return found
        raise self._unsupported(name)

    def _task_name(self) -> str:
        """The name of its task in TASKS."""
        name: str = MODELS[self.config.kind].task
        return name

    def _unsupported(self, command: str) -> InputError:
        known = ", ".join(["evaluate", *self.questions])
        return InputError(
            f"{self.name}: a run of the model {self.config.kind!r} does not support elman "
            f"{command}; it supports: {known}"
        )

    def ask(self, question: str, /, *, progress: Progress = silent, **fields: Any) -> Answer:
        """Ask a question: `ask("suggest", text="the price of", top=3)`."""
        asked = self.question(question)
        return asked.ask(self, make_request(asked.request, fields), progress)

    def named(self, name: str) -> Self:
        again = copy(self)
        again.name = name
        return again

    def for_serving(self, name: str) -> Self:
        """A copy with this name, prepared for concurrent requests."""
        return self.named(name)

    def evaluate(self, data: str, *, split: str | None = None) -> TaskMeasures:
        """Evaluate on a file, or on the test split of a folder or a built-in corpus."""
        raise NotImplementedError

    @classmethod
    def score_together(
        cls,
        runs: Sequence[Any],
        data: str,
        *,
        split: str | None = None,
        progress: Callable[[str], None] = lambda what: None,
        **options: Any,
    ) -> list[ScoredRun]:
        """Score several runs of this class on the same examples, for a comparison."""
        raise InputError(f"{runs[0].name}: runs of {cls.about} cannot be compared")

    def with_columns(self, columns: dict[str, str]) -> Self:
        """A copy that reads tables by these columns."""
        config, again = self.config, copy(self)
        if not hasattr(config.text, "columns"):
            raise InputError(f"--columns: {self.about} does not read tables; leave it out")
        again.task = copy(self.task)
        again.task.config = replace(config, text=replace(config.text, columns=columns))
        return again

    def notes_on(self, data: str, split: str | None = None) -> list[str]:
        """Notes on the data of an evaluation."""
        return []

    @property
    def temperature(self) -> float:
        """The temperature that divides the scores, fitted on validation; 1 by default."""
        return float(self.facts.get("calibration", {}).get("temperature", 1.0))

    def describe_model(self) -> dict[str, Any]:
        """A description of the model, as plain data."""
        facts: dict[str, Any] = self.model.facts()
        return facts

    def contents(self) -> dict[str, Any]:
        """The contents of its run folder, by file name."""
        return {
            "config.json": self.config.to_data(),
            self.task.part: self.task.kept(),
            "facts.json": self.facts,
            "weights.safetensors": self.model.arrays(),
        }

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a run folder, which `elman.load` and all commands read."""
        with argument_errors():
            write_run(Path(path), self.contents(), overwrite=overwrite)

    def describe(self) -> dict[str, Any]:
        """A description of the model and its training, as plain data."""
        return {"name": self.name, **self.describe_model(), "training": self.facts}

    def history(self) -> Records:
        """The records of the training; empty for models that were not trained in steps."""
        return read_history(self.folder)

    def as_table(self) -> Table:
        """The description of the model, for notebooks and data frames."""
        described = {**self.describe_model(), **(self.facts.get("validation") or {})}
        rows = [[name, value] for name, value in described.items() if name != "models"]
        return Table(["", "value"], rows)

    def table_caption(self) -> str:
        """Its name and kind."""
        return f"{self.name}: {self.about}"

    def summary(self) -> list[str | MeasureTable]:
        """The summary printed after a training: lines and tables."""
        facts = self.facts
        lines = [self.read_line(), *self.task.training_lines(facts)]
        for judged_by, value in (facts["validation"] or {}).items():
            if judged_by != "tokens":
                lines.append(self.validation_line(judged_by, value, facts["validation"]["tokens"]))
        return lines

    def read_line(self) -> str:
        """The line about the training data."""
        data = self.facts["data"]
        return f"read {data['examples']:,} {data['unit']}"

    def validation_line(self, judged_by: str, value: float | None, tokens: int) -> str:
        """The line about the validation result."""
        name, shown = criterion(judged_by, math.nan if value is None else value)
        return f"validation {name} {shown:.4f}, {tokens:,} {self.task.judged}"

    def export(self, path: str | Path, to: str = "", *, overwrite: bool = False) -> Exported:
        """Write the model in a format that other programs read (`elman.formats.EXPORTS`)."""
        return export_run(self, path, to, overwrite=overwrite)

    def next_command(self, run: str) -> str:
        """A command to try next with the run; its path is quoted for a shell."""
        return f"elman evaluate {run} --data {shlex.quote(self.facts['data']['name'])}"
