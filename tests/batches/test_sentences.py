"""Batches of sentences: padding, spelling of distinct words, empty sentences."""

import numpy as np
import pytest
import torch

from elman.batches.featured import IndexedFeatures
from elman.batches.sentences import SentenceReader
from elman.text.word_list import WordList


@pytest.fixture
def reader() -> SentenceReader:
    return SentenceReader(WordList.learn([["a", "b", "a"]]))


def test_words_are_numbered_and_padded(reader: SentenceReader) -> None:
    batch = reader.read([["a", "new", "b"], ["b"]])
    assert batch.words[0].tolist() == [1, 0, 2]
    assert batch.words[1, 0] == 2
    assert batch.lengths.tolist() == [3, 1]
    assert batch.real().tolist() == [[True] * 3, [True, False, False]]
    assert len(batch.spelled) == 3
    assert torch.equal(batch.spelled[batch.places[0, 2]], batch.spelled[batch.places[1, 0]])


@pytest.mark.parametrize("sentences", [[[]], [[], []], [[], ["a"]]])
def test_sentences_without_words_are_padding(
    reader: SentenceReader, sentences: list[list[str]]
) -> None:
    batch = reader.read(sentences)
    assert batch.lengths.tolist() == [len(sentence) for sentence in sentences]
    assert batch.words.shape == (len(sentences), 1)
    assert batch.real().sum() == sum(map(len, sentences))


def test_features_stand_beside_their_words(reader: SentenceReader) -> None:
    indexed = reader.index([["a"], [], ["b", "a"]])
    features = [np.array([[5, 6]]), np.zeros((0, 2), dtype=int), np.array([[1, 2], [3, 4]])]
    batch = IndexedFeatures(indexed, features).batch(np.array([2, 1, 0]))
    assert batch.features.tolist() == [
        [[1, 2], [3, 4]],
        [[0, 0], [0, 0]],
        [[5, 6], [0, 0]],
    ]
    moved = batch.to(torch.device("cpu"))
    assert torch.equal(moved.features, batch.features)
    assert torch.equal(moved.words, batch.words)


def test_a_list_with_further_words() -> None:
    known = WordList.learn([["A", "b7", "a"]], lowercase=True, digits_alike=True)
    longer = known.extended(["B", "A", "b1", "c", "C", "<unk>"])
    assert longer.words == ["<unk>", "a", "b0", "b", "c"]
    assert longer.counts.tolist() == [0, 2, 1, 0, 0]
    assert longer.seen() == ["a", "b0"]
    assert longer.ids(["C", "b9", "d"]).tolist() == [4, 2, 0]
    assert WordList.from_data(longer.to_data()).to_data() == longer.to_data()
