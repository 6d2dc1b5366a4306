"""Tiny texts and recipes, for trainings of a second.

Tests import this folder's modules by name: pytest puts `tests/support` on the path.
"""

from pathlib import Path
from typing import Any

import numpy as np

from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import train
from elman.training.history import read_history

_RECIPE = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
hidden_size = 6
embedding_size = 6
{model}

[training]
batch_size = 4
window = 10
{training}
"""
_LINES = {"train": 60, "valid": 20, "test": 20}


def write_recipe(path: Path, *, training: str, model: str = "") -> str:
    """A recipe of a small network, with further settings in lines of TOML."""
    path.write_text(_RECIPE.format(model=model, training=training))
    return str(path)


def sentences(lines: int, seed: int) -> str:
    """The cat sees a dog, and the like: the verb follows from the noun before it."""
    drawn = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return "".join(
        f"the {nouns[a]} {verbs[a - 1]} a {nouns[b]} .\n"
        for a, b in drawn.integers(0, 3, (lines, 2))
    )


def write_sentences(folder: Path) -> Path:
    """A folder with those for training, validation and test."""
    folder.mkdir(parents=True)
    for seed, (split, lines) in enumerate(_LINES.items()):
        (folder / f"{split}.txt").write_text(sentences(lines, seed))
    return folder


def write_letters(folder: Path) -> Path:
    """A folder with lines of six letters out of six, in which there is nothing to learn."""
    folder.mkdir(parents=True)
    drawn = np.random.default_rng(0)
    for split, lines in _LINES.items():
        rows = [" ".join(drawn.choice(list("abcdef"), 6)) + "\n" for _ in range(lines)]
        (folder / f"{split}.txt").write_text("".join(rows))
    return folder


def train_tiny(data: Path, out: Path | None, *overrides: str, **options: Any) -> TrainedModel:
    """Two epochs of a small network."""
    schedule = 'epochs = 2\nlearning_rate = 2.0\nschedule = "linear"\nhold = 0.5'
    recipe = write_recipe(data.parent / "recipe.toml", training=schedule)
    return train(recipe, data=str(data), out=out, overrides=overrides, **options)


def weights(trained: TrainedModel) -> dict[str, bytes]:
    """The weights of a model, comparable."""
    return {name: array.tobytes() for name, array in trained.model.arrays().items()}  # type: ignore[attr-defined]


def history(out: Path) -> list[dict[str, Any]]:
    """The history of a run, without what hangs on a clock."""
    records = read_history(out)
    return [
        {name: value for name, value in record.items() if name != "tokens_per_second"}
        for record in records
    ]
