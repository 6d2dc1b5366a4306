"""A language model reads running text only, unless it is told to take any file as it is."""

from pathlib import Path

import pytest

import elman
from elman.errors import InputError
from elman.text.running_text import open_running_text

TABLE = "".join(f"a dog sees the cat {number}\tpos\n" for number in range(50))


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "table.txt").write_text(TABLE)
    return str(tmp_path / "table.txt")


def test_a_table_is_refused_by_training_and_evaluation(table: str) -> None:
    for recipe in ("ngram", "quick", "elmo-small"):
        with pytest.raises(InputError, match="looks like tab-separated columns"):
            elman.train(recipe, data=table)
    trained = elman.train("ngram", data="grammar")
    with pytest.raises(InputError, match="looks like tab-separated columns"):
        trained.evaluate(table)


def test_any_file_can_be_learned_as_it_is(table: str, tmp_path: Path) -> None:
    trained = elman.train("ngram", data=table, overrides=["text.plain=true"], out=tmp_path / "run")
    assert elman.load(tmp_path / "run").evaluate(table).tokens > 0
    assert trained.config.text.plain


def test_every_file_of_a_folder_is_checked(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a dog sees a cat\n" * 50)
    (tmp_path / "valid.txt").write_text(TABLE)
    with pytest.raises(InputError, match="valid.txt: looks like"):
        open_running_text(str(tmp_path))


def test_built_in_corpora_are_text() -> None:
    for name in ("number-words", "arithmetic", "copy"):
        assert open_running_text(name).documents
