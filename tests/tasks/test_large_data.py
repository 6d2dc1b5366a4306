"""Plans of large data, from a sample of it."""

from pathlib import Path

import numpy as np
import pytest
from tiny import write_recipe

from elman.tasks import large_data, planning
from elman.tasks.large_data import sampled
from elman.tasks.task import plan

SCHEDULE = "epochs = 2\nlearning_rate = 1.0"


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_PROBE_SECONDS", 0.01)
    monkeypatch.setattr(large_data, "_SAMPLED", 100_000)


def write_zipf(path: Path, words: int) -> str:
    """Words by Zipf's law, whose vocabulary grows with the text."""
    drawn = np.random.default_rng(0).zipf(1.3, words) % 1_000_000
    rows = drawn[: words // 20 * 20].reshape(-1, 20).tolist()
    path.write_text("".join(" ".join(f"w{word}" for word in row) + "\n" for row in rows))
    return str(path)


def test_a_sample_gives_the_plan_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_zipf(tmp_path / "text.txt", 300_000)
    recipe = write_recipe(tmp_path / "recipe.toml", training=SCHEDULE)
    whole = plan(recipe, data=data)
    monkeypatch.setattr(large_data, "_LARGE", 200_000)
    found = plan(recipe, data=data)
    assert found.data == data
    assert found.tokens == pytest.approx(whole.tokens, rel=0.05)
    assert found.steps == pytest.approx(whole.steps, rel=0.05)
    assert found.vocabulary_size == pytest.approx(whole.vocabulary_size, rel=0.3)
    assert found.teraflop == pytest.approx(whole.teraflop, rel=0.3)
    assert "planned from a sample of" in found.notes[0]
    assert not any("/tmp" in note and str(tmp_path) not in note for note in found.notes)


def test_a_sample_is_small_and_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_data, "_LARGE", 200_000)
    for split in ("train", "valid"):
        lines = [f"{split} {number:07d}\n" for number in range(60_000)]
        (tmp_path / f"{split}.txt").write_text("".join(lines))
    with sampled(str(tmp_path)) as (place, share):
        text = (Path(place) / "train.txt").read_text().splitlines()
        assert sorted(path.name for path in Path(place).iterdir()) == ["train.txt", "valid.txt"]
    assert not Path(place).exists()
    assert len(text) == pytest.approx(share * 60_000, rel=0.05)
    assert all(len(line) == len("train 0000000") for line in text)  # whole lines
    assert int(text[-1].split()[1]) > 55_000


def test_small_and_compressed_data_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.txt").write_text("a b\n")
    with sampled(str(tmp_path / "x.txt")) as found:
        assert found == (str(tmp_path / "x.txt"), 1.0)
    monkeypatch.setattr(large_data, "_LARGE", 1)
    (tmp_path / "x.json").write_text("{}")
    for name in ("x.json", "grammar", "missing"):
        data = str(tmp_path / name) if name == "x.json" else name
        with sampled(data) as found:
            assert found == (data, 1.0)
