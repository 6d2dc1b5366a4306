"""A tagger reads further columns, and learns tags that only these columns determine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tagged import train_tagger

import elman
from elman.errors import InputError
from elman.layers.word_features import ColumnFeatures
from elman.runs.folder import read_run, write_run
from elman.tasks.task import load

pytestmark = pytest.mark.usefixtures("without_curves")

BESIDE = {"N": "B-THING", "V": "O", "D": "B-START"}
FEATURES = "text.features=[2]"


def rows(count: int, seed: int) -> str:
    """Random words with a column that determines the tag."""
    drawn = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        values = drawn.choice([*BESIDE], drawn.integers(1, 6))
        sentences.append([f"w{drawn.integers(5)} {value} {BESIDE[value]}" for value in values])
    return "\n\n".join("\n".join(sentence) for sentence in sentences) + "\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("featured") / "data"
    folder.mkdir()
    for seed, (split, count) in enumerate({"train": 60, "valid": 10, "test": 20}.items()):
        (folder / f"{split}.txt").write_text(rows(count, seed))
    return folder


@pytest.fixture(scope="module")
def trained(data: Path) -> Any:
    return train_tagger(data, None, FEATURES, "model.feature_size=4")


@pytest.fixture(scope="module")
def without(data: Path) -> Any:
    return train_tagger(data, None)


def test_what_only_the_column_tells_is_learned(trained: Any, without: Any, data: Path) -> None:
    assert trained.evaluate(str(data)).tags.accuracy == 1.0
    assert without.evaluate(str(data)).tags.accuracy < 0.7


def test_words_are_tagged_with_their_features(trained: Any) -> None:
    given = [[("w1", "D"), ("new", "N")], [], [("w1", "V")]]
    expected = [["B-START", "B-THING"], [], ["O"]]
    assert trained.tag(given) == trained.tag(given, batch_size=1) == expected


def test_a_loaded_tagger_reads_them_too(trained: Any, data: Path, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    loaded = elman.load(tmp_path / "run")
    assert loaded.evaluate(str(data)).to_data() == trained.evaluate(str(data)).to_data()


def test_a_run_from_before_there_were_features(without: Any, data: Path, tmp_path: Path) -> None:
    without.save(tmp_path / "run")
    names = ("config.json", "vocabulary.json", "facts.json", "weights.safetensors")
    contents = read_run(tmp_path / "run", names)
    del contents["config.json"]["text"]["features"]
    del contents["config.json"]["model"]["feature_size"]
    del contents["vocabulary.json"]["features"]
    write_run(tmp_path / "old", contents, overwrite=False)
    old = load(tmp_path / "old")
    assert old.evaluate(str(data)).to_data() == without.evaluate(str(data)).to_data()


def test_an_unknown_value_has_a_vector_of_its_own(trained: Any) -> None:
    index = trained.task.index([[("w1", "D"), ("w1", "?")], [("w1", "N")]])
    batch = index.batch(np.array([1, 0]))
    assert batch.features.shape == (2, 2, 1)
    assert batch.features[1, 1] == 0
    assert batch.features[1, 0] != batch.features[0, 0]
    assert len(trained.tag([[("w1", "?")]])[0]) == 1


def test_values_seen_once_teach_what_is_unknown() -> None:
    features = ColumnFeatures([torch.tensor([0, 1, 2])], 3, unknown_rate=1.0)
    (table,) = features.tables
    assert table.vectors.weight[0].tolist() == [0, 0, 0]
    values = torch.tensor([[1, 2]])
    assert table.train().look_up(values)[0, 0].tolist() == [0, 0, 0]
    torch.testing.assert_close(table.eval().look_up(values)[0], table.vectors.weight[1:])


def test_several_columns(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for file in data.iterdir():
        (folder / file.name).write_text(re.sub(r"(?m)^(w\d) ", r"\1 x ", file.read_text()))
    trained = train_tagger(folder, None, "text.features=[3, 2]", "model.characters=none")
    assert trained.model.encoder.features.size == 8 + 2 * 25
    assert trained.tag([[("w1", "D", "x")]]) == [["B-START"]]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["w1"], r"'w1': has 0 features; give those of text.features=\['2'\]"),
        ([("w1", "N", "x")], "has 2 features; give those"),
    ],
)
def test_words_without_their_features_are_refused(
    trained: Any, without: Any, words: list[Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        trained.tag([words])
    with pytest.raises(InputError, match="has 1 features; give none"):
        without.tag([[("w1", "N")]])


def test_the_estimator_takes_words_with_features() -> None:
    X = [[("a", "N"), ("b", "V")], [("b", "N")], [("a", "V"), ("a", "N")]] * 8
    y = [["B-X", "O"], ["B-X"], ["O", "B-X"]] * 8
    settings: dict[str, Any] = {
        "text__features": [2],
        "model__characters": "none",
        "model__dropout_features": 0.0,
        "training__epochs": 20,
        "training__batch_size": 2,
        "training__learning_rate": 0.02,
    }
    tagger = elman.Tagger(**settings)
    assert tagger.fit(X, y).predict([[("c", "N"), ("a", "V")]]).tolist() == [["B-X", "O"]]
    with pytest.raises(InputError, match="'a': has 0 features"):
        tagger.fit([["a"]], [["O"]])


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("text.features=[3]", "one of these columns contains the tags"),
        ("text.features=[4]", "text.features=4: .*train.txt has no such column"),
        ("text.features=[1]", "text.features=1: .* has no such column"),
        ("text.features=[2, 2]", "a column is given twice"),
        ("model.feature_size=0", "model.feature_size=0: must be at least 1"),
    ],
)
def test_settings_that_cannot_be(data: Path, setting: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        train_tagger(data, None, setting)
