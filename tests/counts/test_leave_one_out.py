"""Kneser–Ney without one occurrence: against counts that are taken again without it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from elman.counts.estimate import NgramConfig, estimate
from elman.counts.leave_one_out import CountedNgrams, LeaveOneOut

V, EOS, ORDER = 9, 0, 4
TEXT = np.random.default_rng(3).choice(V - 1, 300, p=[0.2, 0.3, 0.2, 0.1, 0.08, 0.06, 0.04, 0.02])


def counted(order: int = ORDER) -> CountedNgrams:
    return CountedNgrams.of(TEXT, order=order, vocabulary_size=V, eos_id=EOS)


def make(order: int = ORDER) -> LeaveOneOut:
    return LeaveOneOut(counted(order), vocabulary_size=V, eos_id=EOS)


def contexts(order: int = ORDER) -> np.ndarray:
    """The words before each word of the text."""
    known = np.concatenate([np.full(order - 2, -1), [EOS], TEXT])
    return np.stack([known[place : place + len(TEXT)] for place in range(order - 1)], axis=1)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_with_all_counts_it_is_the_ngram_model(order: int) -> None:
    model, tables = (
        make(order),
        estimate(TEXT, NgramConfig(order=order), vocabulary_size=V, eos_id=EOS),
    )
    expected = np.exp(tables.predict(contexts(order)))
    mixed = model.mixed(contexts(order))
    found = model.of_words(mixed, np.arange(V), kind=np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    own = expected[np.arange(len(TEXT)), TEXT]
    np.testing.assert_allclose(model.of_targets(mixed, TEXT), own, rtol=1e-12)
    some = np.array([1, 3, 8])
    np.testing.assert_allclose(
        model.of_words(mixed, some, kind=np.float64), expected[:, some], rtol=1e-12
    )


def naive(place: int, discounts: list[np.ndarray]) -> np.ndarray:
    """The distribution at a place of the text, counted again without the n-grams that end there.

    The discounts are those of the whole text.
    """
    stream = [EOS, *TEXT.tolist()]
    seen: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(ORDER)]
    for end in range(1, len(stream)):
        for length in range(1, ORDER + 1):
            ngram = tuple(stream[max(0, end - length + 1) : end + 1])
            crosses = EOS in ngram[1:-1]  # contexts stop at line starts
            if len(ngram) == length and not crosses and end != place + 1:
                seen[length - 1][ngram] += 1
    probs = np.full(V, 1 / V)
    history = stream[: place + 1]
    for length in range(1, ORDER + 1):
        context = tuple(history[len(history) - length + 1 :])
        if len(context) < length - 1 or EOS in context[1:]:
            break
        counts = np.zeros(V)
        for word in range(V):
            ngram = (*context, word)
            if length == ORDER or (length > 1 and context[0] == EOS):
                counts[word] = seen[length - 1][ngram]
            else:
                longer = seen[length]
                counts[word] = sum(longer[(left, *ngram)] > 0 for left in range(V))
        total = counts.sum()
        if total == 0:
            continue
        taken = discounts[length - 1][np.minimum(counts, 3).astype(int)]
        probs = (counts - taken) / total + taken.sum() / total * probs
    return probs


def test_leaving_out_is_counting_again_without_it() -> None:
    model = make()
    discounts = [order.discounts for order in model._orders]
    mixed = model.left_out(contexts(), TEXT)
    found = model.of_words(mixed, np.arange(V), TEXT, kind=np.float64)
    expected = np.stack([naive(place, discounts) for place in range(len(TEXT))])
    # At the start of a text, the words before it are not known, so nothing tells what is left.
    np.testing.assert_allclose(found[ORDER:], expected[ORDER:], rtol=1e-9)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-9)
    own = found[np.arange(len(TEXT)), TEXT]
    np.testing.assert_allclose(model.of_targets(mixed, TEXT), own, rtol=1e-12)


def test_a_text_is_as_hard_without_its_own_words_as_a_new_one() -> None:
    def perplexity(probs: np.ndarray) -> float:
        return float(np.exp(-np.log(probs).mean()))

    model = make()
    sure = perplexity(model.of_targets(model.mixed(contexts()), TEXT))
    honest = perplexity(model.of_targets(model.left_out(contexts(), TEXT), TEXT))
    assert sure < 0.7 * honest  # words are drawn one by one, so there is nothing to know
    entropy = np.exp(2.0)  # nearly: of these eight words
    assert honest == pytest.approx(entropy, rel=0.3)


def test_words_that_were_not_seen_there_are_left_as_they_are() -> None:
    """A text to fine-tune on was not counted: nothing can be left out of it."""
    model = make(2)
    unseen = np.full(1, V - 1)
    mixed, left = model.mixed(np.array([[1]])), model.left_out(np.array([[1]]), unseen)
    np.testing.assert_allclose(model.of_targets(left, unseen), model.of_targets(mixed, unseen))


def test_single_words_only() -> None:
    words = CountedNgrams.of_words(np.arange(V), ORDER)
    model = LeaveOneOut(words, vocabulary_size=V, eos_id=EOS)
    found = model.of_words(model.mixed(contexts()), np.arange(V), kind=np.float64)
    np.testing.assert_allclose(found.sum(1), 1)
    assert (np.diff(found[0]) > 0).all()


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("sizes", lambda part: part + 1, "numbers of n-grams"),
        ("counts", lambda part: part[:-1], "numbers of n-grams"),
        ("counts", lambda part: -part, "negative count"),
        ("words", lambda part: part + V, "not in the vocabulary"),
        ("prefixes", lambda part: part + 10**6, "no context"),
        ("prefixes", lambda part: part[::-1].copy(), "sorted|no context"),
    ],
)
def test_damaged_counts_are_refused(name: str, change, problem: str) -> None:
    right = counted()
    wrong = replace(right, **{name: change(getattr(right, name))})
    with pytest.raises(ValueError, match=problem):
        LeaveOneOut(wrong, vocabulary_size=V, eos_id=EOS)
