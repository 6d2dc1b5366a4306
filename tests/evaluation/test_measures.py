"""Measures of labels and entities, against scikit-learn's and seqeval's."""

import random

import pytest

from elman.evaluation.measures import measure_labels
from elman.tasks.tagging.measures import measure_entities


def test_an_example_by_hand() -> None:
    found = measure_labels(["a", "a", "b", "b"], ["a", "b", "b", "c"])
    assert found.accuracy == 0.5
    assert found.labels["a"].precision == 1.0
    assert found.labels["a"].recall == 0.5
    assert found.labels["b"].f1 == 0.5
    assert found.labels["c"].f1 == 0.0
    assert found.macro_f1 == pytest.approx((2 / 3 + 0.5 + 0) / 3)
    assert found.confusion == {"a": {"a": 1, "b": 1}, "b": {"b": 1, "c": 1}, "c": {}}


def test_the_same_as_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    drawn = random.Random(1)
    for _ in range(50):
        right = [drawn.choice("abc") for _ in range(30)]
        guessed = [drawn.choice("abcd") for _ in range(30)]
        found = measure_labels(right, guessed)
        assert found.accuracy == pytest.approx(metrics.accuracy_score(right, guessed))
        macro = metrics.f1_score(right, guessed, average="macro", zero_division=0)
        assert found.macro_f1 == pytest.approx(macro)


def test_the_same_as_seqeval() -> None:
    seqeval = pytest.importorskip("seqeval.metrics")
    drawn = random.Random(2)
    choices = ["O", "O", "B-X", "I-X", "B-Y", "I-Y"]
    for _ in range(100):
        lengths = [drawn.randrange(1, 12) for _ in range(5)]
        right, guessed = (
            [[drawn.choice(choices) for _ in range(length)] for length in lengths] for _ in range(2)
        )
        found = measure_entities(right, guessed).all
        assert found.f1 == pytest.approx(seqeval.f1_score(right, guessed, zero_division=0))
        assert found.precision == pytest.approx(
            seqeval.precision_score(right, guessed, zero_division=0)
        )
        assert found.recall == pytest.approx(seqeval.recall_score(right, guessed, zero_division=0))
