"""Labelled trees: training on phrases, evaluation on sentences, renamed labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from films import train_classifier

import elman
from elman.errors import InputError
from elman.recipes import load_recipe
from elman.tasks.classification.reader import Example
from elman.tasks.classification.task import Classification, labelled
from elman.text.reader import Document, read_document

pytestmark = pytest.mark.usefixtures("without_curves")


TREES = """(3 (2 The) (4 (3 Rock) (2 .)))
(1 (2 The) (0 (1 End) (2 .)))
(2 (4 Rock) (2 .))
"""


def read(text: str, *settings: str) -> tuple[list[Example], list[Example]]:
    """What is read, and what is learned of it."""
    rename = ("text.rename.2=", "text.rename.1=bad", "text.rename.0=bad", "text.rename.3=good")
    config = load_recipe("classifier", [*rename, "text.rename.4=good", *settings])
    examples = Classification.read(Document("trees.txt", text), config)
    return examples, Classification.learned(examples)


def test_phrases_are_learned_once_with_each_label_and_only_whole_sentences_judged() -> None:
    examples, learned = read(TREES, "text.phrases=true")
    assert [example.label for example in examples] == ["good", "bad", ""]
    assert [(example.texts[0], example.label) for example in learned] == [
        ("Rock", "good"),  # of two trees
        ("Rock .", "good"),
        ("The Rock .", "good"),
        ("End", "bad"),
        ("End .", "bad"),
        ("The End .", "bad"),
    ]


def test_without_phrases_sentences_are_learned_as_they_come() -> None:
    _, learned = read(TREES + TREES)
    assert [example.texts[0] for example in learned] == ["The Rock .", "The End ."] * 2


def test_the_recipe_of_sst_reads_trees(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text(TREES * 4)
    small = ("model.hidden_size=4", "model.embedding_size=4", "training.epochs=1")
    trained = elman.train("sst2", data=str(tmp_path), overrides=small)
    assert trained.facts["data"]["examples"] == 6
    assert trained.facts["task"]["labels"] == {"negative": 3, "positive": 3}
    assert trained.facts["validation"]["tokens"] == 8
    assert trained.evaluate(str(tmp_path)).labels.count == 8


def test_phrases_of_what_is_held_out_are_not_learned(tmp_path: Path) -> None:
    (tmp_path / "trees.txt").write_text(TREES * 9 + "(0 (1 Unheard) (2 .))\n" * 3)
    small = ("model.hidden_size=4", "model.embedding_size=4", "training.epochs=1")
    small = (*small, "text.split=ordered")
    trained = elman.train("sst2", data=str(tmp_path / "trees.txt"), overrides=small)
    assert "unheard" not in trained.task.words.words
    assert trained.facts["data"]["examples"] == 6


def test_leaving_out_everything_is_refused() -> None:
    with pytest.raises(InputError, match="text.rename leaves out every example"):
        read("2 a film\n2 another\n")


def test_the_treebank_has_its_published_numbers_of_sentences(
    corpus: Callable[[str], Path],
) -> None:
    config, trees = load_recipe("sst2"), corpus("sst") / "trees"
    for split, count in (("train", 6920), ("dev", 872), ("test", 1821)):
        examples = Classification.read(read_document(trees / f"{split}.txt"), config)
        assert len(labelled(examples)) == count
        if split == "train":
            learned = Classification.learned(examples)
            assert len(learned) == len({(one.texts, one.label) for one in learned}) > 60000


def test_a_set_of_a_folder_is_trained_on(corpus: Callable[[str], Path]) -> None:
    films = corpus("sst")
    quick = ("training.epochs=0.01", "model.hidden_size=2", "model.embedding_size=2")
    trained = train_classifier(str(films / "stsa.binary"), *quick)
    assert trained.facts["data"]["examples"] == 6920
    assert trained.evaluate(str(films / "stsa.binary")).labels.count == 1821
