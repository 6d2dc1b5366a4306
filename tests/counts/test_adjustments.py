"""Leaving one out, and the gradients of the adjustments."""

from collections import Counter

import numpy as np

from elman.counts.adjustments import _Kind, learn_adjustments, size_of
from elman.counts.skip_grams import CountedFeatures, count_features, feature_offsets

EOS, SIZE = 0, 6
TEXT = np.random.default_rng(3).integers(0, SIZE, 300) // 2 * 2  # half of the words never occur
KINDS = feature_offsets(3, 2, 2)


def counted() -> list[CountedFeatures]:
    return [*count_features(TEXT, KINDS, vocabulary_size=SIZE, eos_id=EOS, context="stream")]


def sums(kinds: list[_Kind], uniform: float) -> tuple[np.ndarray, np.ndarray]:
    own, every = np.full(len(TEXT), uniform / SIZE), np.full(len(TEXT), uniform)
    for kind in kinds:
        kind.add(own, every)
    return own, every


def test_each_word_is_predicted_without_itself() -> None:
    kinds = [_Kind.of(one, SIZE) for one in counted()]
    for kind in kinds:  # every cell its own adjustment
        kind.adjustments[0][:] = np.random.default_rng(4).normal(size=len(kind.adjustments[0]))
    own, every = sums(kinds, 0.1)
    text = [EOS, *map(int, TEXT)]
    for place in range(1, len(text)):
        expected = np.full(SIZE, 0.1 / SIZE)
        for offsets, kind in zip(KINDS, kinds, strict=True):
            if max(offsets, default=1) > place:
                continue
            feature = [text[place - offset] for offset in offsets]
            after = Counter(
                text[other]
                for other in range(max(offsets, default=1), len(text))
                if other != place and [text[other - offset] for offset in offsets] == feature
            )
            total = sum(after.values())
            for word, count in after.items():
                cell = int(size_of(np.array(total)) * 16 + size_of(np.array(count)))
                expected[word] += np.exp(kind.adjustments[0][cell]) * count / total
        assert np.isclose(own[place - 1], expected[text[place]], rtol=1e-5)
        assert np.isclose(every[place - 1], expected.sum(), rtol=1e-5)


def test_gradients_are_those_of_the_nats() -> None:
    kinds = [_Kind.of(one, SIZE) for one in counted()]
    random = np.random.default_rng(5)
    for kind in kinds:
        for array in kind.adjustments:
            array += random.normal(size=len(array))

    def nats() -> float:
        own, every = sums(kinds, 0.1)
        penalty = sum(2 / 2 * (array**2).sum() for k in kinds for array in k.adjustments[1:])
        return float((np.log(every) - np.log(own)).sum() + penalty)

    own, every = sums(kinds, 0.1)
    for kind in kinds:
        for array, gradient in zip(
            kind.adjustments, kind.gradients(-1 / own, 1 / every, 2.0), strict=True
        ):
            direction, step = random.normal(size=len(array)), 1e-2
            array += step * direction
            above = nats()
            array -= 2 * step * direction
            below = nats()
            array += step * direction
            slope = (above - below) / (2 * step)
            assert np.isclose(slope, gradient @ direction, rtol=0.02, atol=0.05)


def test_more_steps_predict_the_left_out_words_better() -> None:
    options = {"vocabulary_size": SIZE, "prior": 1.0}
    few = learn_adjustments(counted(), len(TEXT), steps=1, **options)
    many = learn_adjustments(counted(), len(TEXT), steps=30, **options)
    assert many.perplexity < few.perplexity - 0.05


def test_weights_are_adjusted_relative_frequencies() -> None:
    """Without a step, only the first adjustment counts: half a nat per word of the context."""
    adjusted = learn_adjustments(counted(), len(TEXT), vocabulary_size=SIZE, steps=0, prior=1.0)
    for one, table in zip(counted(), adjusted.tables, strict=True):
        frequencies = one.table.values / one.table.totals[one.table.features]
        expected = frequencies * np.exp(0.5 * len(table.offsets))
        assert np.allclose(table.values, expected, rtol=1e-6)
