"""A small table of our own, its text, and recipes of a second."""

from pathlib import Path

import numpy as np
import pytest

from elman.reproduce import registry
from elman.tasks import neural_training

TINY = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
hidden_size = 6
embedding_size = 6

[training]
batch_size = 4
window = 10
epochs = 3
learning_rate = 5.0
"""
TABLE = """
title = "a toy"
source = "nobody"
metric = "perplexity"
data = "toy"

[rows.counts]
about = "bigram"
published = 6.5
tolerance = 0.9
recipe = "ngram"
settings = ["model.order=2", "text.tokenizer=words"]

[rows.counts-cache]
about = "bigram with a cache"
published = 0.1
recipe = "ngram"
settings = ["model.order=2", "text.tokenizer=words"]
adapters = ["cache:window=20"]

[rows.neural]
about = "small network"
recipe = "RECIPE"

[rows.both]
about = "the two together"
recipe = "RECIPE"
adapters = ["mix:run={counts}"]
note = "weights fitted on the validation text"

[rows.said]
about = "something else"
published = 3.0
quoted = "nobody knows how"

[rows.later]
about = "not yet"
published = 3.0
recipe = "RECIPE"
adapters = ["of-tomorrow"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test, with texts in `texts/toy` and the one table `toy`."""
    text = tmp_path / "texts" / "toy"
    text.mkdir(parents=True)
    drawn = np.random.default_rng(0)
    for split, lines in {"train": 60, "valid": 20, "test": 20}.items():
        rows = [" ".join(drawn.choice(list("abcdef"), 6)) + "\n" for _ in range(lines)]
        (text / f"{split}.txt").write_text("".join(rows))
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(TINY)
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "toy.toml").write_text(TABLE.replace("RECIPE", str(recipe)))
    monkeypatch.setattr(registry, "FOLDER", tables)
    monkeypatch.setattr(neural_training, "draw_curves", lambda records, path: None)
    monkeypatch.setenv("ELMAN_DATA", str(tmp_path / "texts"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
