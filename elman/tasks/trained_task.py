"""A trained model of sentences with its task: what taggers and classifiers share.

Takes files and sentences, gives examples and batches to the kinds of it (`tagging.py`,
`classification.py`), which say what comes out.

A kind says `measure(examples)`, which gives a `TaskMeasures`: `to_data()` for machines, `rows()`
for people, and where it makes sense `scores()`, `mistakes()`, `notes()`. That is all that `elman
evaluate` needs: it calls `evaluate(data, split=…)`, which reads the examples and measures on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elman.batches.sentences import Sentences
from elman.errors import InputError
from elman.evaluation.task_measures import TaskMeasures
from elman.recipes import RunConfig
from elman.runs.folder import write_run
from elman.tasks.classification.reader import has_columns
from elman.tasks.example_task import ExampleTask
from elman.tasks.question import Askable
from elman.text.reader import Document


def reading_alike(document: Document, config: RunConfig, columns: dict[str, str]) -> RunConfig:
    """Settings that read a table by the columns of the training table, where it has them too."""
    text = config.text
    if not columns or text.columns or not has_columns(document, columns):
        return config
    return replace(config, text=replace(text, columns=columns))


class TrainedTask(Askable):
    """A task and its model, ready to be used."""

    task: Any  # an ExampleTask; every kind says which

    def __init__(
        self, task: ExampleTask, model: Any, facts: dict[str, Any], name: str = "model"
    ) -> None:
        self.task = task
        self.model = model
        self.facts = facts  # about the training: data, hashes, seconds, notes
        self.name = name
        self.notes: list[str] = []  # on the text that `examples` read last

    @property
    def config(self) -> RunConfig:
        """The settings of the run."""
        config: RunConfig = self.task.config
        return config

    def examples(self, data: str, split: str | None = None) -> list[Any]:
        """The examples of a split of a folder (test, unless another is named), or of a file.

        A file that was trained on is cut as it was then.
        """
        corpus = self.task.open(data, self.config)
        document = corpus.split(split or "test") if corpus.whole is None else corpus.whole
        config = reading_alike(document, self.config, self.facts["data"].get("columns", {}))
        every: list[Any] = [*self.task.read(document, config)]
        self.notes = document.notes
        if corpus.whole is None:
            return every
        if split is None and self._trained_on() != [corpus.whole.sha256()]:
            return every
        corpus.split(split or "test")  # is refused if there is none
        found = self.task.splitter(self.config).split(every)[split or "test"]
        if not found:
            raise InputError(
                f"{data}: its {len(every):,} {self.task.unit} are too few for a {split or 'test'} "
                "part; give another file"
            )
        return found

    def use_columns(self, columns: dict[str, str]) -> None:
        """Read tables by these columns from now on."""
        config = self.config
        if not hasattr(config.text, "columns"):
            raise InputError(f"--columns is for tables, and a {config.kind} reads none")
        self.task.config = replace(config, text=replace(config.text, columns=columns))

    def has_seen(self, data: str, split: str | None = None) -> bool:
        """Whether the examples of this text were trained on."""
        corpus = self.task.open(data, self.config)
        if corpus.whole is None or split is not None:
            document = corpus.split(split or "test")
        else:
            document = corpus.whole
        if corpus.whole is not None and self._trained_on() == [corpus.whole.sha256()]:
            return split == "train"
        return [document.sha256()] == self._trained_on()[:1]

    def _trained_on(self) -> list[str]:
        """Hashes of the files of training, the text that was learned first."""
        return [*self.facts["data"]["sha256"].values()]

    def evaluate(self, data: str, *, split: str | None = None) -> TaskMeasures:
        """How well the test split of a folder, or a file, is answered."""
        return self.measure(self.examples(data, split))

    def measure(self, examples: Sequence[Any]) -> TaskMeasures:
        """How well examples are answered; every kind says it."""
        raise InputError(f"{self.name}: a {self.config.kind} has no measures")

    def in_batches(
        self, texts: Sequence[Sequence[Sequence[Any]]], batch_size: int
    ) -> Iterator[tuple[np.ndarray, tuple[Sentences, ...]]]:
        """Rows of like length side by side, with their numbers; rows without words are left out.

        `texts`: the sentences; of pairs, the first ones and the second ones.
        """
        self.model.eval()
        lengths = np.array([[len(sentence) for sentence in part] for part in texts])
        order = np.flatnonzero(lengths.min(0) > 0) if lengths.size else np.array([], dtype=int)
        order = order[np.argsort(lengths.max(0)[order], kind="stable")] if len(order) else order
        indexed = [self.task.index(part) for part in texts]
        with torch.inference_mode():
            for first in range(0, len(order), batch_size):
                rows = order[first : first + batch_size]
                yield rows, tuple(part.batch(rows) for part in indexed)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the run folder."""
        contents = {
            "config.json": self.config.to_data(),
            "vocabulary.json": self.task.kept(),
            "facts.json": self.facts,
            "weights.safetensors": self.model.arrays(),
        }
        write_run(Path(path), contents, overwrite=overwrite)
