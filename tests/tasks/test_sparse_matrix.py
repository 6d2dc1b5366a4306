"""The sparse matrix model as a task: train, save, load, plan; and what it refuses."""

from pathlib import Path

import pytest

import elman
from elman.counts.resources import Resources
from elman.errors import InputError
from elman.tasks.language_modelling.quantising import quantise
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import plan
from elman.training.machine import Machine

DATA = "grammar"
SETTINGS = ["model.steps=5"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("snm") / "run"
    elman.train("snm", data=DATA, out=out, overrides=SETTINGS)
    return out


def test_a_saved_model_measures_the_same(run: Path) -> None:
    trained = elman.train("snm", data=DATA, overrides=SETTINGS, kind=TrainedModel)
    loaded = elman.load(run, TrainedModel)
    assert loaded.evaluate(DATA).perplexity == trained.evaluate(DATA).perplexity
    validated = loaded.evaluate(DATA, split="valid").perplexity
    assert validated == pytest.approx(loaded.facts["validation"]["perplexity"])


def test_the_table_of_a_training_shows_each_kind(run: Path) -> None:
    loaded = elman.load(run, TrainedModel)
    (table,) = loaded.task.training_lines(loaded.facts)
    shown = [row[0] for row in table.rows]
    assert shown[:3] == ["?", "w ?", "w _ ?"]
    assert "w _ w ?" in shown
    assert [row[2] for row in table.rows] == loaded.facts["model"]["ngrams"]


def test_a_plan_expects_about_the_weights_that_there_are(run: Path) -> None:
    planned = plan("snm", data=DATA)
    weights = sum(elman.load(run, TrainedModel).facts["model"]["ngrams"])
    assert planned.parameters == pytest.approx(weights, rel=0.01)


def test_counting_on_disk_is_refused() -> None:
    machine = Machine(counting=Resources(engine="duckdb"))
    with pytest.raises(InputError, match="snm: counts in memory only, about .* leave out --engine"):
        elman.train("snm", data=DATA, machine=machine)


def test_counts_of_ngrams_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="snm: is trained on a text, not on counts of n-grams"):
        elman.train("snm", counts=[tmp_path])


def test_quantising_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kind=snm: cannot be quantised"):
        quantise(elman.load(run, TrainedModel), tmp_path / "short")
