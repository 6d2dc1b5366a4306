"""The trainings behind the rows: each is done once, whichever rows need it.

Takes a recipe with settings, the text and a folder for runs, gives a trained model. A run that is
finished is loaded; one that was stopped goes on; one with other settings is never written over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.experiments.reproduce.registry import (
    PublishedRow,
    PublishedTable,
    Tables,
    references,
    resolve,
)
from elman.recipes import RunConfig, load_recipe, saved_config
from elman.runs.folder import read_run
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load, resume, train
from elman.text.corpora import Corpus
from elman.training.machine import Machine


@dataclass(frozen=True)
class Training:
    """A recipe with settings, on a text."""

    data: str  # name of the text
    recipe: str
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its run folder, readable: ptb-cells-gru-5000000."""
        values = [setting.partition("=")[2] for setting in self.settings]
        words = [self.data, Path(self.recipe).stem, *values]
        return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-") for word in words)

    def config(self) -> RunConfig:
        """The settings of the run."""
        return load_recipe(self.recipe, self.settings)


def trainings_of(tables: Tables, table: PublishedTable, row: PublishedRow) -> dict[str, Training]:
    """The trainings that a row needs: its own as "", those that its adapters name by that name."""
    found = {"": Training(table.data, row.recipe, row.settings)}
    for adapter in row.adapters:
        for reference in references(adapter):
            _, other = resolve(tables, table, reference)
            found[reference] = Training(table.data, other.recipe, other.settings)
    return found


def is_finished(training: Training, runs: Path) -> bool:
    """Whether the run is there and has gone its whole way."""
    path = runs / training.name
    if not path.exists():
        return False
    return _finished(read_run(path, ["facts.json"])["facts.json"])


def ensure(
    training: Training,
    corpus: Corpus,
    runs: Path,
    *,
    machine: Machine,
    progress: Callable[[str], None],
) -> TrainedModel:
    """The trained model: from its run if that is finished, else trained to the end."""
    path = runs / training.name
    if not path.exists():
        return train(
            training.recipe,
            data=corpus.name,
            out=path,
            overrides=training.settings,
            machine=machine,
            progress=progress,
            kind=TrainedModel,
        )
    contents = read_run(path, ["config.json", "facts.json"])
    _refuse_others(path, training, contents["config.json"])
    _refuse_other_text(path, corpus, contents["facts.json"])
    if _finished(contents["facts.json"]):
        return load(path, TrainedModel)
    return resume(path, TrainedModel, data=corpus.name, machine=machine, progress=progress)


def _finished(facts: dict[str, Any]) -> bool:
    return facts.get("training", {}).get("finished", True)  # counting is never half done


def _refuse_others(path: Path, training: Training, saved: dict[str, Any]) -> None:
    there, wanted = saved_config(saved), training.config()
    if wanted.text.tokenizer == "auto":
        wanted = replace(wanted, text=replace(wanted.text, tokenizer=there.text.tokenizer))
    ours, theirs = (config.to_data() | {"recipe": ""} for config in (wanted, there))
    if ours != theirs:
        raise InputError(
            f"{path}: was trained with other settings than {training.recipe} has now; move it away"
        )


def _refuse_other_text(path: Path, corpus: Corpus, facts: dict[str, Any]) -> None:
    if corpus.split("train").sha256() not in facts["data"]["sha256"].values():
        raise InputError(f"{path}: was trained on another text than {corpus.name}; move it away")
