"""A small table with its text, and recipes that train in a second."""

from pathlib import Path

import pytest
from tiny import write_letters, write_recipe

from elman.experiments.reproduce import registry

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
cost = "no cost: nobody knows the sizes"

[rows.later]
about = "not yet"
published = 3.0
recipe = "RECIPE"
adapters = ["of-tomorrow"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_curves: None) -> Path:
    """The folder of the test, with texts in `texts/toy` and the one table `toy`."""
    write_letters(tmp_path / "texts" / "toy")
    recipe = write_recipe(tmp_path / "tiny.toml", training="epochs = 3\nlearning_rate = 5.0")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "toy.toml").write_text(TABLE.replace("RECIPE", recipe))
    monkeypatch.setattr(registry, "FOLDER", tables)
    monkeypatch.setenv("ELMAN_DATA", str(tmp_path / "texts"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
