"""A classifier starts from a language model, and resumes exactly."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from films import train_classifier
from stopping import stop_at

import elman
from elman.errors import DataWarning, InputError
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

LANGUAGE_MODEL = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
hidden_size = 6
embedding_size = 8

[training]
batch_size = 4
window = 10
epochs = 2
learning_rate = 2.0
"""
NO_STEP = ("training.learning_rate=1e-30", "training.epochs=0.05")
THAWING = (
    "training.unfreeze=0.5",
    "training.rate_decay=2.6",
    "training.epochs=20",
    "training.patience=0",
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory, data: str, without_curves: None) -> Path:
    """A language model of the same texts, without their labels."""
    place = tmp_path_factory.mktemp("words")
    (place / "text").mkdir()
    for old, new in (("train", "train"), ("dev", "valid")):
        rows = (Path(data) / f"{old}.tsv").read_text().splitlines()
        text = "".join(f"{row.partition(chr(9))[0]}\n" for row in rows)
        (place / "text" / f"{new}.txt").write_text(text)
    (place / "words.toml").write_text(LANGUAGE_MODEL)
    elman.train(str(place / "words.toml"), data=str(place / "text"), out=place / "words")
    return place / "words"


def test_vectors_and_layers_are_taken_over(data: str, words: Path) -> None:
    before = elman.load(words)
    trained = train_classifier(data, *NO_STEP, start_from=words)
    old, new = before.model.arrays(), trained.model.arrays()
    layers = [name for name in old if name.startswith("stack.")]
    assert len(layers) == 3
    for name in layers:
        np.testing.assert_array_equal(new[f"encoder.{name}"], old[name])
    numbers = {word: number for number, word in enumerate(trained.task.words.words)}
    vectors = new["encoder.features.vectors.weight"]
    for word in ("film", "dull", "<unk>"):
        expected = old["input.weight"][before.tokenizer.tokens.index(word)]
        np.testing.assert_array_equal(vectors[numbers[word]], expected)
    found = f"{len(numbers) - 1} of {len(numbers) - 1} words (100% of the training text)"
    assert found in str(trained.facts["data"]["notes"])


def test_it_learns_layer_by_layer(data: str, words: Path, tmp_path: Path) -> None:
    trained = train_classifier(data, *THAWING, start_from=words, out=tmp_path / "run")
    assert trained.evaluate(data).labels.accuracy > 0.9
    assert elman.load(tmp_path / "run").evaluate(data).to_data() == trained.evaluate(data).to_data()


def test_what_waits_stays_as_it_was(data: str, words: Path) -> None:
    trained = train_classifier(data, "training.unfreeze=1", "training.epochs=0.5", start_from=words)
    fresh = train_classifier(data, *NO_STEP, start_from=words).model.arrays()
    moved = {
        name
        for name, array in trained.model.arrays().items()
        if not np.allclose(array, fresh[name], rtol=0, atol=1e-12)
    }
    assert moved == {"scores.weight", "scores.bias"}


def test_stops_leave_no_trace(data: str, words: Path, tmp_path: Path) -> None:
    settings = (*THAWING, "training.epochs=2")
    whole = train_classifier(data, *settings, start_from=words, out=tmp_path / "whole")
    with stop_at([7], signal.SIGINT), pytest.raises(Stopped):
        train_classifier(data, *settings, start_from=words, out=tmp_path / "stopped")
    gone_on = resume(tmp_path / "stopped")
    for name, array in whole.model.arrays().items():
        assert array.tobytes() == gone_on.model.arrays()[name].tobytes()


@pytest.mark.parametrize("setting", ["model.pooling=attention", "model.bidirectional=false"])
def test_other_parts_are_as_free_as_ever(data: str, words: Path, setting: str) -> None:
    assert train_classifier(data, setting, *NO_STEP, start_from=words)


def test_what_does_not_fit_is_refused(data: str, words: Path) -> None:
    problems: dict[str, Any] = {
        "model.embedding_size=9": "add --set model.embedding_size=8$",
        "model.num_layers=2": "add --set model.num_layers=1$",
        "model.encoder=window": "without recurrent layers over words",
    }
    for setting, problem in problems.items():
        with pytest.raises(InputError, match=problem):
            train_classifier(data, setting, *NO_STEP, start_from=words)


def test_words_are_found_in_another_case(tmp_path: Path) -> None:
    lines = ("The Film of Rome .", "THE film the Rome .", "A NATO film in Rome .")
    for split in ("train", "valid"):
        (tmp_path / f"{split}.txt").write_text("".join(f"{line}\n" for line in lines * 9))
    (tmp_path / "words.toml").write_text(LANGUAGE_MODEL)
    before = elman.train(str(tmp_path / "words.toml"), data=str(tmp_path), out=tmp_path / "words")
    (tmp_path / "films.tsv").write_text("The rome film\tgood\nNATO of romeo\tbad\n" * 9)
    lower = ("text.lowercase=true", *NO_STEP)
    films = str(tmp_path / "films.tsv")
    trained = train_classifier(films, *lower, start_from=tmp_path / "words")
    vectors = trained.model.arrays()["encoder.features.vectors.weight"]
    table, tokens = before.model.arrays()["input.weight"], before.tokenizer.tokens
    numbers = {word: number for number, word in enumerate(trained.task.words.words)}
    for word, known in (("film", "film"), ("rome", "Rome"), ("nato", "NATO"), ("the", "the")):
        np.testing.assert_array_equal(vectors[numbers[word]], table[tokens.index(known)])
    assert "5 of 6 words (83% of the training text) start" in str(trained.facts["data"]["notes"])
    (tmp_path / "other.tsv").write_text("der rome satz\tgood\nein anderer film\tbad\n" * 9)
    with pytest.warns(DataWarning, match="its vocabulary has only 2 of the 6 words"):
        train_classifier(str(tmp_path / "other.tsv"), *lower, start_from=tmp_path / "words")
