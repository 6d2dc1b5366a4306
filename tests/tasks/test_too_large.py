"""Settings that ask for more memory than there is are refused before anything is built."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import train_tiny, write_recipe

from elman.errors import InputError
from elman.models.weights import compare_shapes, outline
from elman.tasks import planning
from elman.tasks.task import plan, read_lesson
from elman.training import memory


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    return write_recipe(tmp_path / "recipe.toml", training="epochs = 1")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.hidden_size=1000000", "this training needs at least .* of memory for .* lower mod"),
        ("model.hidden_size=1000000000000", "the model is too large for any machine"),
        ("model.num_layers=1000000", "num_layers=1000000: must be at most 1,000"),
    ],
)
@pytest.mark.parametrize("doing", ["train", "plan"])
def test_it_is_refused_at_once(
    data: Path, out: Path, recipe: str, doing: str, setting: str, message: str
) -> None:
    asked = {
        "train": lambda: train_tiny(data, out, setting),
        "plan": lambda: plan(recipe, data=str(data), overrides=[setting]),
    }
    with pytest.raises(InputError, match=message):
        asked[doing]()
    assert not out.exists()


def test_what_fits_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from elman.training.settings import TrainingConfig

    model = torch.nn.Linear(1000, 1000, bias=False)
    config = TrainingConfig(optimizer="adam", learning_rate=0.1)
    assert memory.needed_bytes(model, config) == 4_000_000 * 2 * (2 + 2)
    monkeypatch.setattr(memory, "available_bytes", lambda: 32_000_000)
    memory.refuse_too_large(model, config)
    monkeypatch.setattr(memory, "available_bytes", lambda: 31_999_999)
    with pytest.raises(InputError, match=r"1,000,000 parameters, but only 0\.0 GB are available"):
        memory.refuse_too_large(model, config)


def test_an_outline_has_shapes_and_draws_nothing() -> None:
    before = torch.get_rng_state()
    made = outline(lambda: torch.nn.LSTM(3, 4))
    assert made is not None
    assert all(value.is_meta for value in made.parameters())
    assert torch.equal(torch.get_rng_state(), before)
    real = torch.nn.LSTM(3, 4)
    shapes = {name: tuple(value.shape) for name, value in real.state_dict().items()}
    compare_shapes(made, shapes)
    with pytest.raises(ValueError, match=r"weight_ih_l0 is \(16, 2\) in the file, but \(16, 3\)"):
        compare_shapes(made, shapes | {"weight_ih_l0": (16, 2)})


def test_a_plan_measures_with_few_rows_where_steps_are_long(
    data: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 6.0)  # steps are counted over whole epochs
    whole = plan(recipe, data=str(data))
    monkeypatch.setattr(planning, "_PROBE_OPERATIONS", 1)  # as if a step took for ever
    rows: list[int] = []
    narrow = planning._Narrow.next

    def counting(self: planning._Narrow) -> object:
        batch = narrow(self)
        rows.append(0 if batch is None else len(batch.inputs))
        return batch

    monkeypatch.setattr(planning._Narrow, "next", counting)
    narrowed = plan(recipe, data=str(data))
    assert set(rows) <= {0, 1}
    assert (narrowed.steps, narrowed.tokens) == (whole.steps, whole.tokens)
    assert narrowed.teraflop == whole.teraflop
    assert narrowed.seconds > 0


@pytest.mark.slow
def test_a_plan_of_a_vocabulary_of_400_000_words_takes_seconds(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    words = drawn.permutation(np.repeat(np.arange(400_000), 2))
    rows = [" ".join(f"w{word}" for word in row) for row in words.reshape(-1, 20)]
    (tmp_path / "text.txt").write_text("\n".join(rows) + "\n")
    begun = time.process_time()
    found = plan("zaremba-small", data=str(tmp_path / "text.txt"))
    assert found.vocabulary_size is not None
    assert found.vocabulary_size > 390_000
    assert time.process_time() - begun < 40  # of processor time, on all cores


def test_the_outline_of_a_training_is_that_of_its_model(data: Path, out: Path) -> None:
    trained = train_tiny(data, out)
    lesson = read_lesson(trained.config, str(data))
    made = lesson.task.outline(lesson.train)
    assert made is not None
    found = {name: tuple(a.shape) for name, a in trained.model.arrays().items()}  # type: ignore[attr-defined]
    compare_shapes(made, found)
