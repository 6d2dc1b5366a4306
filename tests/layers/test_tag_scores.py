"""Scores of tags from hashed features of a word and its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from elman.batches.featured import IndexedFeatures
from elman.batches.sentences import SentenceReader, Sentences
from elman.layers.hashing import combine, into_table
from elman.layers.tag_scores import TagScores
from elman.text.word_list import WordList

TABLE = 1 << 16
WORDS = WordList.learn([["a", "cat"], ["the", "Dog", "barks"]])
READER = SentenceReader(WORDS)


def id_of(word: str) -> int:
    return int(WORDS.ids([word])[0])


def with_weight(kind: int, *values: int) -> TagScores:
    """Scores with the weight 1 for the first tag and one feature only."""
    scores = TagScores(2, table=TABLE, dropout=0.0).eval()
    with torch.no_grad():
        scores.vectors.weight[into_table(combine(torch.tensor(values), kind), TABLE), 0] = 1.0
    return scores


def first_tag(scores: TagScores, sentences: Sentences) -> list[list[float]]:
    with torch.no_grad():
        found = scores(sentences)
    assert not found[..., 1].any()
    return found[..., 0].tolist()


# Kinds of word features: 16 to 20 for the words two before to two after, 21 and 22 for pairs.
@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (18, ["cat"], [0, 1, 0]),  # the word itself
        (17, ["cat"], [0, 0, 1]),  # the word before
        (19, ["cat"], [1, 0, 0]),
        (16, ["a"], [0, 0, 1]),
        (21, ["a", "cat"], [0, 1, 0]),  # the word with the one before
        (22, ["a", "cat"], [1, 0, 0]),
    ],
)
def test_words_around_each_word(kind: int, values: list[str], expected: list[float]) -> None:
    scores = with_weight(kind, *map(id_of, values))
    assert first_tag(scores, READER.read([["a", "cat", "barks"]])) == [expected]


def test_edges_are_values() -> None:
    sentences = READER.read([["a", "cat", "barks"], ["a", "cat"]])
    assert first_tag(with_weight(17, -1), sentences) == [[1, 0, 0], [1, 0, 0]]
    assert first_tag(with_weight(19, -1), sentences) == [[0, 0, 1], [0, 1, 0]]  # not the padding


def test_unknown_words_are_no_features_but_their_affixes_are() -> None:
    assert id_of("zebra") == 0
    sentences = READER.read([["zebra", "cat"]])
    assert first_tag(with_weight(18, 0), sentences) == [[0, 0]]
    suffix = [ord(letter) + 1 for letter in "ra"]  # symbols are bytes plus one
    assert first_tag(with_weight(2 * 2 + 1, *suffix), sentences) == [[1, 0]]


def test_columns_are_features() -> None:
    indexed = IndexedFeatures(READER.index([["a", "cat"]]), [np.array([[3], [5]])])
    sentences = indexed.batch(np.arange(1))
    assert first_tag(with_weight(48 + 2, 5), sentences) == [[0, 1]]
    assert first_tag(with_weight(48 + 1, 3), sentences) == [[0, 1]]


def test_a_row_does_not_depend_on_its_batch() -> None:
    scores = TagScores(3, table=1 << 12, dropout=0.5).eval()
    torch.nn.init.normal_(scores.vectors.weight)
    together = scores(READER.read([["a", "cat"], ["the", "Dog", "barks", "extraordinarily"]]))
    torch.testing.assert_close(together[:1, :2], scores(READER.read([["a", "cat"]])))


def test_dropout_keeps_the_expectation() -> None:
    torch.manual_seed(0)
    scores = TagScores(1, table=TABLE, dropout=0.5)
    torch.nn.init.ones_(scores.vectors.weight)
    sentences = READER.read([["a", "cat"]] * 500)
    torch.testing.assert_close(
        scores.train()(sentences).mean(0), scores.eval()(sentences).mean(0), rtol=0.05, atol=0
    )
