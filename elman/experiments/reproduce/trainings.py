"""The trainings behind the rows: each is run once, even if several rows need it.

A finished run is loaded, and a stopped run continues. A run with other settings is never
overwritten.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.experiments.reproduce.experiments import trials_of
from elman.experiments.reproduce.registry import (
    PublishedRow,
    PublishedTable,
    Tables,
    all_references,
    resolve,
)
from elman.recipes import RunConfig, load_recipe, saved_config
from elman.runs.claim import MANIFEST
from elman.runs.folder import read_run
from elman.tasks.saved_runs import task_of
from elman.tasks.task import Kind, load, resume, train
from elman.tasks.trained import Trained
from elman.text.corpora import Corpus
from elman.text.split_names import SPLITS
from elman.training.machine import Machine


@dataclass(frozen=True)
class Training:
    """A recipe with settings, on a dataset."""

    data: str  # the name of the dataset
    recipe: str
    settings: tuple[str, ...] = ()
    number: int = 0  # added to the seed of the recipe; trainings of a row differ only in it
    starts_from: str = ""  # the name of the run to start from
    folder: str = ""  # for experiments: the run folder
    corpus: str = ""  # for experiments: a built-in corpus with its options

    @property
    def name(self) -> str:
        """The name of the run folder, such as ptb-cells-gru-5000000."""
        if self.folder:
            return self.folder
        values = [setting.partition("=")[2] for setting in self.settings]
        words = [self.data, Path(self.recipe).stem, *values]
        if self.starts_from:
            words.append("finetuned")
        if self.number:
            words.append(f"seed{self.number}")
        return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-") for word in words)

    @property
    def cost_name(self) -> str:
        """The name of the entry for its cost, the same for all seeds.

        For the first seed it is the name of the run.
        """
        if self.folder:
            return self.folder.removesuffix(f"-{self.number}")
        return self.name.removesuffix(f"-seed{self.number}") if self.number else self.name

    def seed(self) -> int:
        """The seed of the run."""
        return load_recipe(self.recipe, self.settings).seed + self.number

    def config(self) -> RunConfig:
        """The settings of the run."""
        return load_recipe(self.recipe, self.settings, self.seed())

    def open(self, data: str) -> Corpus:
        """The corpus to train on: its own, or `data`, that of the table.

        Refused if a split is missing, because a single file is not a published dataset.
        """
        config = self.config()
        corpus = task_of(config.kind).open(self.corpus or data, config)
        for split in SPLITS:
            corpus.split(split)
        return corpus


def trainings_of(
    tables: Tables, table: PublishedTable, row: PublishedRow, number: int = 0
) -> dict[str, Training]:
    """The trainings that a row needs: its own under "", others under their references.

    The trainings of an experiment are named by their folders. Those to run first come last.
    """
    if row.experiment:
        return {
            trial.folder: Training(
                data=row.task,
                recipe=trial.recipe,
                settings=trial.settings,
                number=trial.seed,
                folder=trial.folder,
                corpus=trial.corpus,
            )
            for trial in trials_of(row)
        }
    if not row.recipe:
        return {}
    found = {"": _own_training(tables, table, row, number)}
    for reference in all_references(row):
        home, other = resolve(tables, table, reference)
        same = number if reference == row.starts_from else 0
        for name, training in trainings_of(tables, home, other, same).items():
            found[name or reference] = training
    return found


def _own_training(
    tables: Tables, table: PublishedTable, row: PublishedRow, number: int
) -> Training:
    before = ""
    if row.starts_from:
        home, other = resolve(tables, table, row.starts_from)
        before = _own_training(tables, home, other, number).name
    return Training(table.data, row.recipe, row.settings, number, before)


def is_finished(training: Training, runs: Path) -> bool:
    """Whether the run exists and is complete."""
    return share_done(training, runs) == 1.0


def share_done(training: Training, runs: Path) -> float:
    """The saved share of a training, from 0 to 1."""
    path = runs / training.name
    if not path.exists():
        return 0.0
    facts = read_run(path, ["facts.json"])["facts.json"]
    if _finished(facts):
        return 1.0
    return min(0.999, facts["training"]["epochs"] / training.config().training.epochs)


def hash_run(path: Path) -> str:
    """The SHA-256 of a run: that of its manifest, which contains the hash of every file."""
    return hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()


def ensure(
    training: Training,
    data: str,
    runs: Path,
    *,
    machine: Machine,
    progress: Callable[[str], None],
    kind: type[Kind] = Trained,  # type: ignore[assignment]
) -> Kind:
    """The trained model: loaded if its run is finished, otherwise trained to the end."""
    path, text = runs / training.name, training.open(data)
    if not path.exists():
        return train(
            training.recipe,
            data=text.name,
            out=path,
            overrides=training.settings,
            seed=training.seed(),
            start_from=runs / training.starts_from if training.starts_from else None,
            machine=machine,
            progress=progress,
            kind=kind,
        )
    contents = read_run(path, ["config.json", "facts.json"])
    _refuse_others(path, training, contents["config.json"])
    if not task_of(training.config().kind).is_same_text(text, contents["facts.json"]):
        raise InputError(f"{path}: was trained on another text than {text.name}; move it away")
    if _finished(contents["facts.json"]):
        return load(path, kind)
    return resume(path, kind, data=text.name, machine=machine, progress=progress)


def _finished(facts: dict[str, Any]) -> bool:
    return facts.get("training", {}).get("finished", True)  # counting is never unfinished


def _refuse_others(path: Path, training: Training, saved: dict[str, Any]) -> None:
    there, wanted = saved_config(saved), training.config()
    if wanted.text.tokenizer == "auto":
        wanted = replace(wanted, text=replace(wanted.text, tokenizer=there.text.tokenizer))
    ours, theirs = (config.to_data() | {"recipe": ""} for config in (wanted, there))
    if ours != theirs:
        raise InputError(
            f"{path}: was trained with other settings than {training.recipe} has now; move it away"
        )
