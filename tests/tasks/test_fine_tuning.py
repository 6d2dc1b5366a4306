"""A tagger starts from a language model, and resumes exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from outcome import differences, outcome
from stopping import stop_at
from tagged import train_tagger, write_tagged

import elman
from elman.errors import InputError
from elman.tasks.tagging.reader import TaggedSentence
from elman.tasks.task import resume
from elman.training.loop import Stopped

pytestmark = pytest.mark.usefixtures("without_curves")

LANGUAGE_MODEL = """
[text]
tokenizer = "words"
lowercase = true

[model]
kind = "recurrent"
hidden_size = 8
embedding_size = 8
num_layers = 2

[training]
batch_size = 4
window = 10
epochs = 2
learning_rate = 2.0
"""
FITTING = ("model.num_layers=2",)
ALIKE = (*FITTING, "model.characters=none", "model.bidirectional=false")
NO_STEP = ("training.learning_rate=1e-30", "training.epochs=0.05")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagged text, and a language model of its words in running text."""
    place = tmp_path_factory.mktemp("fine")
    data = write_tagged(place / "data")
    (place / "text").mkdir()
    for split in ("train", "valid"):
        blocks = (data / f"{split}.txt").read_text().split("\n\n")
        lines = [" ".join(row.split()[0] for row in block.splitlines()) for block in blocks]
        text = "\n".join(lines).replace("Dee", "Eve")  # there is a word that it does not know
        (place / "text" / f"{split}.txt").write_text(text + "\n")
    (place / "words.toml").write_text(LANGUAGE_MODEL)
    elman.train(str(place / "words.toml"), data=str(place / "text"), out=place / "words")
    return place


def tagger(place: Path, *settings: str, out: Path | None = None) -> Any:
    return train_tagger(place / "data", out, *settings, start_from=place / "words")


def test_vectors_and_layers_are_taken_over(place: Path) -> None:
    before = elman.load(place / "words")
    trained = tagger(place, *ALIKE, *NO_STEP)
    old, new = before.model.arrays(), trained.model.arrays()
    layers = [name for name in old if name.startswith("stack.")]
    assert len(layers) == 6
    for name in layers:
        np.testing.assert_array_equal(new[f"encoder.{name}"], old[name])
    table, vectors = old["input.weight"], new["encoder.features.vectors.weight"]
    numbers = {word: number for number, word in enumerate(trained.task.words.words)}
    tokens = before.tokenizer.tokens
    for word in ("ann", "in", "<unk>"):
        np.testing.assert_array_equal(vectors[numbers[word]], table[tokens.index(word)])
    np.testing.assert_allclose(vectors[numbers["dee"]], table.mean(0), rtol=1e-5)
    seen = trained.task.words.seen()
    known = sum(word in tokens for word in seen)
    (note,) = trained.facts["data"]["notes"]
    assert note.startswith(f"{known} of {len(seen)} words (")
    assert "of the training text) start from the vectors of " in note
    assert note.endswith(f", which adds {len(numbers) - 1 - len(seen)} more words")


def test_words_that_only_the_language_model_knows_have_its_vectors(
    place: Path, tmp_path: Path
) -> None:
    before = elman.load(place / "words")
    trained = tagger(place, out=tmp_path / "run")
    words, features = trained.task.words, trained.model.encoder.features
    assert "eve" in words.words
    assert "eve" not in words.seen()
    expected = before.model.arrays()["input.weight"][before.tokenizer.tokens.index("eve")]
    found = features.look_up(torch.from_numpy(words.ids(["Eve"])))
    np.testing.assert_array_equal(found.detach()[0], expected)  # training did not change it
    again = elman.load(tmp_path / "run")
    for name, array in trained.model.arrays().items():
        np.testing.assert_array_equal(again.model.arrays()[name], array)
    assert again.task.words.to_data() == words.to_data()
    measured = trained.measure([TaggedSentence(("Eve", "Ann"), trained.task.tags[:2])])
    assert measured.unknown_words == 1  # training never saw Eve


def test_the_sizes_are_those_of_the_language_model(place: Path) -> None:
    config = tagger(place, *NO_STEP).config.model
    assert (config.num_layers, config.hidden_size, config.embedding_size) == (2, 8, 8)


def test_what_is_wider_keeps_fresh_weights_for_the_rest(place: Path) -> None:
    old = elman.load(place / "words").model.arrays()
    new = tagger(place, *FITTING, *NO_STEP).model.arrays()
    fresh = train_tagger(place / "data", None, *FITTING, *NO_STEP).model.arrays()
    for layer in (0, 1):
        name = f"stack.layers.{layer}.directions.0.weights.gates_input"
        np.testing.assert_array_equal(new[f"encoder.{name}"][:, :8], old[name])
        np.testing.assert_array_equal(
            new[f"encoder.{name}"][:, 8:], fresh[f"encoder.{name}"][:, 8:]
        )
        backward = f"encoder.stack.layers.{layer}.directions.1.weights.gates_input"
        np.testing.assert_array_equal(new[backward], fresh[backward])


def test_what_waits_stays_as_it_was(place: Path) -> None:
    old = elman.load(place / "words").model.arrays()
    settings = (*ALIKE, "training.unfreeze=1", "training.rate_decay=2.6")
    early = tagger(place, *settings, "training.epochs=1.5").model.arrays()
    changed = [
        not np.array_equal(early[f"encoder.{name}"], old[name])
        for name in old
        if name.startswith("stack.layers.0")
    ]
    assert not any(changed)
    above = "stack.layers.1.directions.0.weights.gates_input"
    assert not np.array_equal(early[f"encoder.{above}"], old[above])
    late = tagger(place, *settings, "training.unfreeze=0.05").model.arrays()
    below = "stack.layers.0.directions.0.weights.gates_input"
    assert not np.array_equal(late[f"encoder.{below}"], old[below])


def test_it_learns(place: Path) -> None:
    settings = (*FITTING, "training.unfreeze=0.5", "training.rate_decay=2.6")
    assert tagger(place, *settings).evaluate(str(place / "data")).tags.accuracy > 0.98


@pytest.mark.parametrize("average", ["none", "ema"])
def test_stops_leave_no_trace(place: Path, tmp_path: Path, average: str) -> None:
    settings = (*FITTING, "training.unfreeze=0.5", "training.rate_decay=2.6")
    settings += (f"training.average={average}", "training.epochs=2.1", "training.weight_decay=1e-3")
    tagger(place, *settings, out=tmp_path / "straight")
    stopped = tmp_path / "stopped"
    with stop_at(range(0, 1000, 6)):
        with pytest.raises(Stopped):
            tagger(place, *settings, out=stopped)
        stops = 1
        while True:
            try:
                resume(stopped)
                break
            except Stopped:
                stops += 1
    assert stops >= 5
    assert differences(outcome(tmp_path / "straight"), outcome(stopped)) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("model.num_layers=1",), "the layers do not fit; add --set model.num_layers=2$"),
        (
            ("model.hidden_size=[8,9]", "model.num_layers=2"),
            "the layers do not fit; add --set model.hidden_size=8$",
        ),
        ((*FITTING, "model.embedding_size=9"), "add --set model.embedding_size=8$"),
        ((*FITTING, "model.cell=gru"), "add --set model.cell=lstm$"),
        (("model.encoder=window",), "without recurrent layers over words"),
    ],
)
def test_what_does_not_fit_is_refused(place: Path, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tagger(place, *settings, *NO_STEP)


def test_other_models_are_refused(place: Path, tmp_path: Path) -> None:
    elman.train("ngram", data="grammar", out=tmp_path / "counts")
    with pytest.raises(InputError, match="only start from a recurrent language model of words"):
        train_tagger(place / "data", None, start_from=tmp_path / "counts")
    train_tagger(place / "data", tmp_path / "ner", *NO_STEP)
    with pytest.raises(InputError, match="its model differs from the model of this recipe"):
        train_tagger(place / "data", None, "model.hidden_size=12", start_from=tmp_path / "ner")


def test_a_tagger_begins_with_a_tagger(place: Path, tmp_path: Path) -> None:
    first = train_tagger(place / "data", tmp_path / "ner")
    again = train_tagger(place / "data", None, *NO_STEP, start_from=tmp_path / "ner")
    assert again.task.to_data() == first.task.to_data()
    for name, array in first.model.arrays().items():
        np.testing.assert_array_equal(again.model.arrays()[name], array)
