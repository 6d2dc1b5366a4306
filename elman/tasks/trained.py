"""A trained model with its task, ready to be asked: what `elman.train` and `elman.load` give.

Takes data and questions, gives measures and answers. Every task has a class of its own that adds
what only it can do (`TrainedModel`, `TrainedTagger`, `TrainedTranslator` …).
"""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from elman.errors import InputError
from elman.evaluation.measures import MeasureTable, Progress, TaskMeasures, silent
from elman.models import MODELS
from elman.recipes import RunConfig
from elman.runs.folder import write_run
from elman.tasks import TASKS
from elman.tasks.question import Answer, Question, make_request


class Trained:
    """A task and its model."""

    about: ClassVar[str] = "a trained model"  # as messages call one
    confuses: ClassVar[bool] = False  # whether its measures say what was taken for what
    task: Any  # a Task; every class says which
    model: Any

    def __init__(self, task: Any, model: Any, facts: dict[str, Any], name: str = "model") -> None:
        self.task = task
        self.model = model
        self.facts = facts  # about the training: data, hashes, seconds, notes
        self.name = name
        self.folder = Path(name)  # of the run, whatever messages call it

    @property
    def config(self) -> RunConfig:
        config: RunConfig = self.task.config
        return config

    @property
    def questions(self) -> dict[str, Question]:
        """What can be asked of it, by name."""
        every = TASKS[MODELS[self.config.kind].task].load_questions()
        return {name: question for name, question in every.items() if question.able(self)}

    def question(self, name: str) -> Question:
        """One of them; the others are not imported."""
        every = TASKS[MODELS[self.config.kind].task].load_questions()
        if name in every and every[name].able(self):
            found: Question = every[name]
            return found
        known = ", ".join(["evaluate", *self.questions])
        raise InputError(
            f"{self.name}: is a run of the model {self.config.kind!r}, not for elman {name}; it is "
            f"for: {known}"
        )

    def ask(self, question: str, /, *, progress: Progress = silent, **fields: Any) -> Answer:
        """The answer to a question: `ask("suggest", text="the price of", top=3)`."""
        asked = self.question(question)
        return asked.ask(self, make_request(asked.request, fields), progress)

    def named(self, name: str) -> Self:
        again = copy(self)
        again.name = name
        return again

    def for_serving(self, name: str) -> Self:
        """The same under a name, ready to be asked by many at once."""
        return self.named(name)

    def evaluate(self, data: str, *, split: str | None = None) -> TaskMeasures:
        """How well it does on the test split of a folder or a built-in corpus, or on a file."""
        raise NotImplementedError

    def with_columns(self, columns: dict[str, str]) -> Self:
        """The same, reading tables by these columns."""
        config, again = self.config, copy(self)
        if not hasattr(config.text, "columns"):
            raise InputError(f"--columns is for tables, and {self.about} reads none; leave it out")
        again.task = copy(self.task)
        again.task.config = replace(config, text=replace(config.text, columns=columns))
        return again

    def notes_on(self, data: str, split: str | None = None) -> list[str]:
        """What to know about data that it was just measured on."""
        return []

    def describe_model(self) -> dict[str, Any]:
        """What the model is, as plain data."""
        facts: dict[str, Any] = self.model.facts()
        return facts

    def contents(self) -> dict[str, Any]:
        """What a run folder holds of it, by the names of the parts."""
        return {
            "config.json": self.config.to_data(),
            self.task.part: self.task.kept(),
            "facts.json": self.facts,
            "weights.safetensors": self.model.arrays(),
        }

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        write_run(Path(path), self.contents(), overwrite=overwrite)

    def describe(self) -> dict[str, Any]:
        """What a person wants to know about it, as plain data."""
        return {"name": self.name, **self.describe_model(), "training": self.facts}

    def summary(self) -> list[str | MeasureTable]:
        """What a training has to say at its end: lines and tables."""
        facts = self.facts
        lines = [self.read_line(), *self.task.training_lines(facts)]
        for judged_by, value in (facts["validation"] or {}).items():
            if judged_by != "tokens":
                lines.append(self.validation_line(judged_by, value, facts["validation"]["tokens"]))
        return lines

    def read_line(self) -> str:
        """What was read for the training."""
        data = self.facts["data"]
        return f"read {data['examples']:,} {data['unit']}"

    def validation_line(self, judged_by: str, value: float | None, tokens: int) -> str:
        """How validation came out."""
        return f"validation {judged_by} {value:.4f} of {tokens:,}"

    def next_command(self, run: str) -> str:
        """What to try with the run."""
        return f"elman evaluate {run} --data {self.facts['data']['name']}"
