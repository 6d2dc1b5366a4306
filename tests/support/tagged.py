"""Small tagged texts in columns, and a tagger that trains in a second."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from elman.tasks.task import train

_LINES = {"train": 80, "valid": 20, "test": 20}
RECIPE = """
[text]
lowercase = true

[model]
kind = "tagger"
hidden_size = 8
embedding_size = 8
character_size = 5
spelling_size = 6
dropout_features = 0.1
dropout_output = 0.1

[training]
epochs = 4
batch_size = 4
optimizer = "adam"
learning_rate = 0.02
clip = 5.0
validate_every = 0.5
"""


def tagged_sentences(count: int, seed: int) -> str:
    """A name is a person, of one word or two, and after `in` a place; lengths differ."""
    drawn = np.random.default_rng(seed)
    names = ("Ann", "Bob", "Cid", "Dee")
    blocks = []
    for _ in range(count):
        rows = [f"{names[drawn.integers(4)]} B-PER"]
        if drawn.random() < 0.5:
            rows.append(f"{names[drawn.integers(4)]}son I-PER")
        rows.append(f"{('sees', 'hears')[drawn.integers(2)]} O")
        for _ in range(drawn.integers(4)):
            rows += ["in O", f"{names[drawn.integers(4)]} B-LOC", "and O"]
        blocks.append("\n".join([*rows, ". O"]))
    return "\n\n".join(blocks) + "\n"


def write_tagged(folder: Path, *, lengths: bool = False) -> Path:
    """A folder with those for training, validation and test; `lengths`: of words, in a column."""
    folder.mkdir(parents=True)
    for seed, (split, count) in enumerate(_LINES.items()):
        text = tagged_sentences(count, seed)
        if lengths:
            text = re.sub(r"(?m)^(\S+)", lambda word: f"{word[0]} {len(word[0])}", text)
        (folder / f"{split}.txt").write_text(text)
    return folder


def train_tagger(data: Path, out: Path | None, *overrides: str, **options: Any) -> Any:
    """A few epochs of a small tagger."""
    recipe = data.parent / "tagger.toml"
    recipe.write_text(RECIPE)
    return train(str(recipe), data=str(data), out=out, overrides=overrides, **options)
