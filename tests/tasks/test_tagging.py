"""A tagger learns, is the same after loading, and treats every sentence independently."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tagged import tagged_sentences, train_tagger, write_tagged

import elman
from elman.errors import DataWarning, InputError
from elman.tasks.tagging.probabilities import ScoredSentences
from elman.tasks.tagging.reader import TaggedSentence, read_tagged
from elman.tasks.tagging.task import TrainedTagger
from elman.tasks.task import load
from elman.text.reader import Document

pytestmark = pytest.mark.usefixtures("without_curves")

VARIANTS = {
    "plain": [],
    "no characters, softmax": ["model.characters=none", "model.output=softmax"],
    "characters by rnn": ["model.characters=rnn", "model.output=crf"],
    "one direction, gru": ["model.bidirectional=false", "model.cell=gru", "model.num_layers=2"],
    "window": ["model.encoder=window", "model.window=1", "model.characters=none"],
    "window, crf": ["model.encoder=window", "model.window=2", "model.output=crf"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tagged(tmp_path_factory.mktemp("tagged") / "data")


@pytest.fixture(scope="module", params=VARIANTS)
def trained(request: pytest.FixtureRequest, data: Path) -> Any:
    return train_tagger(data, None, *VARIANTS[request.param])


@pytest.fixture(scope="module")
def plain(data: Path) -> Any:
    return train_tagger(data, None)


def examples(count: int = 40, seed: int = 9) -> list[TaggedSentence]:
    return read_tagged(Document("drawn", tagged_sentences(count, seed)))


def words(count: int = 40, seed: int = 9) -> list[tuple[str, ...]]:
    return [example.words for example in examples(count, seed)]


def test_it_learns(trained: Any, data: Path) -> None:
    measures = trained.evaluate(str(data))
    assert measures.entities.all.f1 > 0.98
    assert measures.tags.accuracy > 0.98
    assert measures.sentences == 20


@pytest.mark.parametrize("batch_size", [1, 2, 7, 100])
def test_tags_do_not_depend_on_the_size_of_a_batch(trained: Any, batch_size: int) -> None:
    assert trained.tag(words(), batch_size=batch_size) == trained.tag(words())


def test_tags_do_not_depend_on_the_order(trained: Any) -> None:
    sentences = words()
    order = random.Random(0).sample(range(len(sentences)), len(sentences))
    shuffled = trained.tag([sentences[place] for place in order], batch_size=3)
    expected = trained.tag(sentences)
    assert shuffled == [expected[place] for place in order]


def test_scores_do_not_depend_on_padding(trained: Any) -> None:
    short, long = ["Ann", "sees", "."], ["Bob", *["in", "Cid", "and"] * 20, "."]
    index = trained.task.index([short, long])
    trained.model.eval()
    with torch.no_grad():
        alone = trained.model.score(index.batch(np.array([0])))
        beside = trained.model.score(index.batch(np.array([1, 0])))
    torch.testing.assert_close(beside[1, :3], alone[0], rtol=1e-5, atol=1e-5)


def test_a_loaded_tagger_gives_the_same_tags(trained: Any, tmp_path: Path) -> None:
    trained.save(tmp_path / "run")
    loaded = elman.load(tmp_path / "run")
    assert loaded.tag(words()) == trained.tag(words())
    measured = loaded.measure(examples())
    assert measured.to_data() == trained.measure(examples()).to_data()


def test_empty_sentences_have_no_tags(plain: Any) -> None:
    tagged = plain.tag([[], ["Ann", "sees", "."], []])
    assert [len(tags) for tags in tagged] == [0, 3, 0]
    assert plain.tag([]) == []
    assert plain.tag([[]]) == [[]]


def test_measures_by_hand(plain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        TaggedSentence(("Ann", "sees", "Xo"), ("B-PER", "O", "B-LOC")),
        TaggedSentence(("Zed", "."), ("B-NEW", "O")),
    ]
    guesses = [["B-PER", "O", "B-LOC"], ["B-PER", "O"]]
    numbers = [[plain.task.tags.index(tag) for tag in tags] for tags in guesses]
    monkeypatch.setattr(ScoredSentences, "best", lambda self, offset: numbers)
    found = plain.measure(given)
    assert found.tags.accuracy == 4 / 5
    assert (found.unknown_words, found.unknown_accuracy) == (2, 0.5)
    assert found.whole_sentences == 0.5
    assert found.unseen_tags == {"B-NEW": 1}
    assert (found.entities.all.precision, found.entities.all.recall) == (2 / 3, 2 / 3)
    assert found.mistakes() == [("B-NEW", "B-PER", 1)]
    (note,) = found.notes()
    assert note == "1 word with a tag not seen in training (B-NEW): always wrong"
    assert dict(found.rows())["F1"] == pytest.approx(2 / 3)


# Schemes ------------------------------------------------------------------------------------------


def test_spans_learned_in_another_scheme_come_out_as_written(data: Path) -> None:
    trained = train_tagger(data, None, "text.scheme=bioes")
    assert "S-LOC" in trained.task.tags
    assert {tag for tags in trained.tag(words()) for tag in tags} <= trained.known_tags()
    assert trained.known_tags() == {"O", "B-PER", "I-PER", "B-LOC"}
    assert trained.evaluate(str(data)).tags.accuracy > 0.98
    written_otherwise = [TaggedSentence(("Ann", "sees", "."), ("S-PER", "O", "O"))]
    assert trained.measure(written_otherwise).tags.accuracy == 1.0


def test_another_scheme_in_the_text_to_measure_is_refused(plain: Any) -> None:
    other = [TaggedSentence(("Ann", "sees", "."), ("S-PER", "O", "O"))]
    with pytest.raises(InputError, match=r"BIOES, the training data uses BIO; .*text.scheme=bio"):
        plain.measure(other)


def test_another_scheme_in_the_valid_text_is_refused(tmp_path: Path) -> None:
    data = write_tagged(tmp_path / "data")
    (data / "valid.txt").write_text("Ann S-PER\nsees O\n")
    with pytest.raises(InputError, match="BIOES, the training data uses BIO"):
        train_tagger(data, None)
    train_tagger(data, None, "text.scheme=bio", "training.epochs=0.1")


def test_iob1_is_read_as_bio(data: Path, tmp_path: Path, plain: Any) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for file in data.iterdir():
        (folder / file.name).write_text(file.read_text().replace("B-", "I-"))
    trained = train_tagger(folder, None)
    assert trained.tag(words()) == plain.tag(words())  # the text is the same
    assert trained.task.tags == ["B-LOC", "B-PER", "I-PER", "O"]
    note = "spans start with I-, as in IOB1: input and output use BIO instead"
    assert trained.facts["data"]["notes"][0].startswith(f"{folder / 'train.txt'}: {note}")
    measures = plain.evaluate(str(folder))
    assert [note in said for said in plain.notes] == [True]
    assert measures.to_data() == plain.evaluate(str(data)).to_data()
    assert plain.notes == []


def test_a_tag_only_in_validation_is_noted_once(tmp_path: Path) -> None:
    data = write_tagged(tmp_path / "data")
    (data / "valid.txt").write_text("Ann B-ORG\nsees O\nBob B-ORG\n\nCid B-NEW\n")
    with pytest.warns(DataWarning, match="3 words with tags not seen in training"):
        trained = train_tagger(data, None, "training.epochs=0.1")
    note = "validation: 3 words with tags not seen in training (B-ORG, B-NEW): always wrong"
    few = "only 2 sentences to validate on"
    assert trained.facts["data"]["notes"][0] == note
    assert [other.startswith(few) for other in trained.facts["data"]["notes"][1:]] == [True]
    with pytest.warns(DataWarning, match="3 words with tags not seen in training"):
        converted = train_tagger(data, None, "training.epochs=0.1", "text.scheme=bioes")
    assert converted.facts["data"]["notes"][0] == note.replace("B-", "S-")


# Files --------------------------------------------------------------------------------------------


def test_a_lone_file_is_cut_between_sentences(tmp_path: Path) -> None:
    text = tmp_path / "all.txt"
    text.write_text(tagged_sentences(100, 0))
    trained = train_tagger(text, None, "training.epochs=0.1")
    assert trained.facts["data"]["examples"] == 90
    every = read_tagged(Document("all", text.read_text()))
    parts = [trained.examples(str(text), split) for split in ("train", "valid", "test")]
    assert [len(part) for part in parts] == [90, 5, 5]
    assert trained.examples(str(text)) == parts[2] != every[95:]
    assert sorted(map(repr, (s for part in parts for s in part))) == sorted(map(repr, every))
    other = tmp_path / "other.txt"
    other.write_text(tagged_sentences(10, 1))
    assert len(trained.examples(str(other))) == 10
    assert trained.has_seen(str(text), "train")
    assert not trained.has_seen(str(text))
    assert not trained.has_seen(str(other))


def test_a_text_of_training_is_told(plain: Any, data: Path) -> None:
    assert plain.has_seen(str(data), "train")
    assert plain.has_seen(str(data / "train.txt"))
    assert not plain.has_seen(str(data))


def test_a_run_of_another_kind_is_told(data: Path, tmp_path: Path) -> None:
    elman.train("ngram", data="grammar", out=tmp_path / "counts")
    with pytest.raises(InputError, match="is an ngram, not a tagger"):
        load(tmp_path / "counts", TrainedTagger)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Ann sees Bob", "sentences is a single text"),
        (["Ann sees Bob"], r"sentences\[0\] is a single text; give every sentence as a list"),
        ([["Ann", None]], r"sentences\[0\]\[1\] is missing"),
        ([["Ann", ""]], r"sentences\[0\]\[1\] is an empty word"),
        (None, "sentences is of type NoneType"),
    ],
)
def test_anything_but_lists_of_words_is_refused(plain: Any, given: Any, message: str) -> None:
    for ask in (plain.tag, plain.probabilities):
        with pytest.raises(InputError, match=message):
            ask(given)
