"""Plans of a tagger and a translator, made with the trainer that trains them."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pairs import RECIPE, write_parallel
from tagged import RECIPE as TAGGER
from tagged import write_tagged

from elman.cli.plan import _rows
from elman.tasks import planning
from elman.tasks.tagging.task import Tagging
from elman.tasks.task import plan


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.01)


def test_a_tagger(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(TAGGER)
    cost = plan(str(tmp_path / "recipe.toml"), data=str(write_tagged(tmp_path / "data")))
    assert cost.vocabulary_size is None
    assert (cost.epochs, cost.steps) == (4, 80)  # 80 sentences, four at a time
    assert cost.seconds > 0


def test_reading_the_data_is_part_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipe.toml").write_text(TAGGER)
    prepare = Tagging.prepare  # a class method

    def slowly(*arguments: Any) -> Any:
        time.sleep(0.3)
        return prepare(*arguments)

    monkeypatch.setattr(Tagging, "prepare", slowly)
    cost = plan(str(tmp_path / "recipe.toml"), data=str(write_tagged(tmp_path / "data")))
    assert cost.reading_seconds > 0.3
    rows = dict(_rows(replace(cost, seconds=60, reading_seconds=8, threads=1)))
    assert rows["time here"] == "60 s with 1 thread, after 8 s of reading the data"


def test_a_translator(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    cost = plan(str(tmp_path / "recipe.toml"), data=str(write_parallel(tmp_path / "data")))
    assert cost.vocabulary_size == 8
    # Matrices of the recurrence, attention and readout; both tables of 8 × 6 are looked up, but
    # the output's is multiplied with.
    assert 1000 < cost.multiplications < cost.parameters - 48
