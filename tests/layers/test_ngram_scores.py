"""Scores of labels from the n-grams of a text."""

from __future__ import annotations

import math

import pytest
import torch

from elman.batches.sentences import SentenceReader, Sentences
from elman.layers.hashing import combine, into_table
from elman.layers.ngram_scores import NgramScores, learn_ngrams
from elman.text.word_list import WordList

TEXTS = [["a", "cat"], ["a", "dog", "a"], ["the", "dog"]]
LABELS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])


def read(texts: list[list[str]]) -> Sentences:
    return SentenceReader(WordList.learn(TEXTS)).read(texts)


def place_of(word: str, table: int) -> int:
    number = torch.tensor([int(WordList.learn(TEXTS).ids([word])[0])])
    return int(into_table(combine(number, 10), table))


def test_idf_counts_texts_not_occurrences() -> None:
    scores = NgramScores(2, table=1 << 16)
    scores.count(scores.read([read(TEXTS[:2]), read(TEXTS[2:])]), LABELS)
    for word, texts in {"a": 2, "cat": 1, "dog": 2, "the": 1}.items():
        expected = math.log((1 + 3) / (1 + texts)) + 1
        assert math.isclose(scores.idf[place_of(word, 1 << 16)], expected, rel_tol=1e-6)


def test_naive_bayes_by_hand() -> None:
    # Two texts with one word each, and one label each. In the table: the words a and b, with the
    # character n-grams ^a$ and ^b$. Each label has two features in its text and two outside of it,
    # so p(f | own) = (1 + 1) / (4 + 2) and p(f | other) = (0 + 1) / (4 + 2).
    reader = SentenceReader(WordList.learn([["a"], ["b"]]))
    scores = NgramScores(2, table=1 << 16)
    scores.count(scores.read([reader.read([["a"], ["b"]])]), torch.eye(2))
    ratio = math.log(2) / 2
    assert sorted(set(scores.ratios.unique().tolist())) == pytest.approx([-ratio, 0.0, ratio])
    # Both features of "a" have the same idf, so each has the value 1 / √2.
    linear, bayes = scores.with_naive_bayes(reader.read([["a"], ["b"]]))
    assert not linear.any()
    whole = math.sqrt(2) * ratio
    torch.testing.assert_close(bayes, torch.tensor([[whole, -whole], [-whole, whole]]))


def test_mixed_weights_give_the_mixed_scores() -> None:
    scores = NgramScores(2, table=1 << 16)
    learn_ngrams([scores], [[read(TEXTS)]], LABELS, 1.0)
    linear, bayes = scores.with_naive_bayes(read(TEXTS))
    assert bayes.abs().max() > 0.1
    torch.testing.assert_close(scores(read(TEXTS)), linear)
    weights, bias = scores.mixed(0.25, 3.0)
    scores.weights.copy_(weights)
    scores.bias.zero_()
    torch.testing.assert_close(scores(read(TEXTS)) + bias, 0.25 * linear + 3.0 * bayes)


def test_the_vector_of_a_text_has_length_one() -> None:
    scores = NgramScores(1, table=1 << 16)
    scores.weights[place_of("cat", 1 << 16)] = 1.0
    # "a cat" has two words, a pair, and of characters ^a$ ^ca cat at$, ^cat cat$ and ^cat$:
    # ten features that weigh the same.
    found = scores(read([["a", "cat"]]))
    assert math.isclose(found.item(), 1 / math.sqrt(10), rel_tol=1e-6)


def test_a_row_does_not_depend_on_its_batch() -> None:
    scores = NgramScores(3, table=1 << 12)
    torch.nn.init.normal_(scores.weights)
    together = scores(read([["a", "cat"], ["the", "dog", "a", "cat", "elephant"]]))
    torch.testing.assert_close(together[:1], scores(read([["a", "cat"]])))


def test_words_that_training_never_saw_count_by_their_characters_alone() -> None:
    scores = NgramScores(1, table=1 << 16)
    scores.weights[place_of("cat", 1 << 16)] = 1.0
    assert scores(read([["cats", "zebra"]])).item() == 0.0


def test_a_text_is_nearest_to_its_own_label() -> None:
    scores = NgramScores(2, table=1 << 12)
    learn_ngrams([scores], [[read(TEXTS[:1]), read(TEXTS[1:])]], LABELS, 10.0)
    assert scores(read(TEXTS)).argmax(1).tolist() == LABELS.argmax(1).tolist()


def test_of_very_much_text_an_even_part_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [TEXTS[number % 2] for number in range(40)]
    labels = LABELS[:2].repeat(20, 1)
    whole, part = NgramScores(2, table=1 << 12), NgramScores(2, table=1 << 12)
    learn_ngrams([whole], [[read(every)]], labels, 1.0)
    monkeypatch.setattr("elman.layers.ngram_scores._MOST_FEATURES", 200)
    learn_ngrams([part], [[read(every)]], labels, 1.0)
    torch.testing.assert_close(part.idf, whole.idf)  # counts are of all
    assert part.weights.norm() < whole.weights.norm()
    assert part(read(TEXTS[:2])).argmax(1).tolist() == [0, 1]
