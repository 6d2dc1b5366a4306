"""A classifier learns, agrees with a hand computation, and treats every text independently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from films import draw_texts, log_probabilities, train_classifier

from elman.errors import InputError
from elman.tasks.classification.trained import TrainedClassifier

pytestmark = pytest.mark.usefixtures("without_curves")


def test_it_learns(trained: TrainedClassifier, data: str) -> None:
    measures = trained.evaluate(data)
    assert measures.main() == ("accuracy", measures.labels.accuracy)
    assert measures.labels.accuracy > 0.9
    assert measures.labels.count == 40
    assert trained.facts["task"]["labels"].keys() == {"bad", "good"}


def test_the_probabilities_of_all_labels_add_up_and_come_likeliest_first(
    trained: TrainedClassifier,
) -> None:
    found = trained.classify([text for _, text in draw_texts(10, 3)])
    for one in found:
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert [*one.probabilities.values()] == sorted(one.probabilities.values(), reverse=True)
        assert (one.label, one.probability) == next(iter(one.probabilities.items()))


def test_scores_by_hand(data: str) -> None:
    window = ["model.encoder=window", "model.window=0", "model.pooling=max"]
    trained = train_classifier(data, *window, "training.epochs=1")
    found = trained.model.arrays()
    ids = trained.task.words.ids("a warm film .".split())
    vectors = found["encoder.features.vectors.weight"][ids]
    hidden = np.tanh(vectors @ found["encoder.window.weight"].T + found["encoder.window.bias"])
    scores = hidden.max(0) @ found["scores.weight"].T + found["scores.bias"]
    expected = scores - np.log(np.exp(scores).sum())
    assert log_probabilities(trained, "a warm film .") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("pooling", ["last", "mean", "max", "attention"])
@pytest.mark.parametrize("bidirectional", ["true", "false"])
def test_neighbours_padding_and_order_change_nothing(
    data: str, pooling: str, bidirectional: str
) -> None:
    settings = [f"model.pooling={pooling}", f"model.bidirectional={bidirectional}"]
    trained = train_classifier(data, *settings, "model.characters=cnn", "training.epochs=1")
    given = [text for _, text in draw_texts(13, 4)] + ["a " + "dull film " * 20 + "."]
    alone = [log_probabilities(trained, text) for text in given]
    order = np.random.default_rng(0).permutation(len(given))
    for size in (1, 4, 32):
        found = trained.classify([given[place] for place in order], batch_size=size)
        for place, one in zip(order, found, strict=True):
            row = np.log([one.probabilities[label] for label in trained.task.labels])
            assert row == pytest.approx(alone[place], abs=1e-5)


def test_the_poolings_differ(data: str) -> None:
    poolings = ("last", "mean", "max", "attention")
    runs = [
        train_classifier(data, f"model.pooling={name}", "training.epochs=1") for name in poolings
    ]
    found = {round(run.classify(["a fine film ."])[0].probability, 6) for run in runs}
    assert len(found) == 4


def test_the_sum_of_operations_counts_words(trained: TrainedClassifier) -> None:
    words = [len(text.split()) for _, text in draw_texts(80, 0)]
    assert trained.task.length == pytest.approx(sum(words) / 80)
    scores = trained.model.scores.weight.numel()
    stack = sum(
        p.numel() for n, p in trained.model.named_parameters() if "stack" in n and p.dim() == 2
    )
    expected = trained.task.length * stack + scores
    assert trained.model.multiplications(8) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a fine film .", "texts is a single text; give a list of texts"),
        (["a fine film .", None], r"texts\[1\] is missing \(None\)"),
        ([("a fine film .", 3)], r"texts\[0\] is of type int, not a text"),
        (None, "texts is of type NoneType"),
    ],
)
def test_anything_but_a_list_of_texts_is_refused(
    trained: TrainedClassifier, given: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        trained.classify(given)


def test_an_explanation_is_of_one_text(trained: TrainedClassifier) -> None:
    with pytest.raises(InputError, match=r"texts\[0\] is missing"):
        trained.explain(None)  # type: ignore[arg-type]
