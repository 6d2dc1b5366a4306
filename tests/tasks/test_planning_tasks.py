"""Plans of a tagger and a translator, made with the trainer that trains them."""

from pathlib import Path

import pytest
from pairs import RECIPE, write_parallel
from tagged import RECIPE as TAGGER
from tagged import write_tagged

from elman.tasks import planning
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


def test_a_translator(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    cost = plan(str(tmp_path / "recipe.toml"), data=str(write_parallel(tmp_path / "data")))
    assert cost.vocabulary_size == 8
    # Matrices of the recurrence, attention and readout; both tables of 8 × 6 are looked up, but
    # the output's is multiplied with.
    assert 1000 < cost.multiplications < cost.parameters - 48
