"""Measures of generated text, by hand."""

import pytest

from elman.evaluation.generated import measure_generated, ngrams_of


def words(*samples: str) -> list[list[str]]:
    return [sample.split() for sample in samples]


def test_variety_and_length() -> None:
    found = measure_generated(words("a b a b", "a b"))
    assert found.samples == 2
    assert found.mean_length == 3
    # Unigrams: a b a b a b, two different ones of six. Bigrams: ab ba ab, ab: two of four.
    # Trigrams: aba bab: two of two.
    assert found.distinct == {1: pytest.approx(2 / 6), 2: pytest.approx(2 / 4), 3: 1.0}
    assert found.copied is None
    assert found.longest_copy is None


def test_repetition_is_within_a_sample() -> None:
    # abcd bcda cdab dabc abcd: five 4-grams, the last stood there before.
    assert measure_generated(words("a b c d a b c d")).repetition == pytest.approx(1 / 5)
    assert measure_generated(words("a b c d", "a b c d")).repetition == 0


def test_copying() -> None:
    training = "the cat sat on the mat and the dog ran".split()
    found = measure_generated(words("the cat sat on a mat and the dog"), training)
    # 4-grams: the cat sat on | cat sat on a | sat on a mat | on a mat and | a mat and the |
    # mat and the dog: the first and the last are copied, two of six.
    assert found.copied == {4: pytest.approx(2 / 6), 6: 0.0, 8: 0.0}
    assert found.longest_copy == 4


def test_a_copy_does_not_cross_samples() -> None:
    found = measure_generated(words("a b", "c d"), "a b c d".split())
    assert found.longest_copy == 2


def test_a_whole_copy_and_none() -> None:
    training = "a b c d e f g h".split()
    assert measure_generated([training], training).longest_copy == 8
    assert measure_generated([training], training).copied == {4: 1.0, 6: 1.0, 8: 1.0}
    assert measure_generated(words("x y"), training).longest_copy == 0


@pytest.mark.parametrize("samples", [[], [[]]])
def test_nothing_was_generated(samples: list[list[str]]) -> None:
    found = measure_generated(samples, ["a"])
    assert found.mean_length == found.repetition == found.longest_copy == 0
    assert set(found.distinct.values()) == {0.0}


def test_ngrams_in_order() -> None:
    assert ngrams_of("a b c".split(), 2) == [("a", "b"), ("b", "c")]
    assert ngrams_of(["a"], 2) == []
