"""The two texts of a pair are read by one encoder."""

from __future__ import annotations

import numpy as np
import pytest
from films import draw_texts, log_probabilities, train_classifier

from elman.errors import InputError
from elman.tasks.classification.trained import TrainedClassifier

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> TrainedClassifier:
    place = tmp_path_factory.mktemp("pairs")
    for seed, split in enumerate(("train", "dev", "test")):
        both = zip(draw_texts(40, seed), draw_texts(40, 10 + seed), strict=True)
        rows = [f"{a}\t{b}\t{'same' if x == y else 'other'}\n" for (x, a), (y, b) in both]
        (place / f"{split}.tsv").write_text("".join(rows))
    return train_classifier(str(place), "training.epochs=2")


def test_both_texts_of_a_pair_are_read_by_the_same_encoder(pairs: TrainedClassifier) -> None:
    arrays = pairs.model.arrays()
    weight = arrays["scores.weight"].copy()
    size = weight.shape[1] // 4
    first, second = "a fine film .", "a dull story cast ."
    there, back = (log_probabilities(pairs, both) for both in ((first, second), (second, first)))
    assert there != pytest.approx(back, abs=1e-4)  # [u; v; …] knows which is which
    swapped = np.concatenate(
        [weight[:, size : 2 * size], weight[:, :size], weight[:, 2 * size :]], 1
    )
    pairs.model.load_arrays({**arrays, "scores.weight": swapped})
    try:
        assert log_probabilities(pairs, (second, first)) == pytest.approx(there, abs=1e-5)
    finally:
        pairs.model.load_arrays(arrays)


def test_a_pair_without_its_own_places_is_symmetric(pairs: TrainedClassifier) -> None:
    arrays = pairs.model.arrays()
    weight = arrays["scores.weight"].copy()
    weight[:, : weight.shape[1] // 2] = 0  # only |u - v| and u ∘ v are left
    pairs.model.load_arrays({**arrays, "scores.weight": weight})
    try:
        there = log_probabilities(pairs, ("a fine film .", "a dull story cast ."))
        back = log_probabilities(pairs, ("a dull story cast .", "a fine film ."))
    finally:
        pairs.model.load_arrays(arrays)
    assert there == pytest.approx(back, abs=1e-5)


def test_words_of_both_texts_contribute(pairs: TrainedClassifier) -> None:
    first, second = "a fine film .", "dull"
    whole = log_probabilities(pairs, (first, second))
    label = int(whole.argmax())
    found = pairs.explain((first, second))
    assert [(one.word, one.text) for one in found] == [
        *((word, 1) for word in first.split()),
        ("dull", 2),
    ]
    without = log_probabilities(pairs, ("a film .", second))[label]
    assert found[1].contribution == pytest.approx(whole[label] - without, abs=1e-5)
    assert found[-1].contribution is None


def test_texts_and_pairs_are_not_taken_for_each_other(
    pairs: TrainedClassifier, trained: TrainedClassifier
) -> None:
    with pytest.raises(InputError, match="1 texts; this classifier labels a pair of texts"):
        pairs.classify(["a film ."])
    with pytest.raises(InputError, match="2 texts; this classifier labels a text"):
        trained.classify([("a film .", "another .")])
