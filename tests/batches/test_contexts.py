"""Windows of words: who is around whom, subsampling, shuffling and positions."""

import numpy as np

from elman.batches.contexts import NOBODY, Contexts, kept_shares

SENTENCES = [np.array([1, 2, 3, 4]), np.array([5]), np.array([6, 7])]
ALL = np.ones(8)


def pairs(batches: Contexts) -> list[tuple[int, int]]:
    """Every centre of an epoch with each word around it."""
    found = []
    while (batch := batches.next()) is not None:
        for centre, row in zip(batch.centres.tolist(), batch.contexts.tolist(), strict=True):
            found += [(centre, other) for other in row if other != NOBODY]
    return sorted(found)


def test_windows_of_one_word_stay_within_the_sentence() -> None:
    batches = Contexts(SENTENCES, ALL, window=1, batch_size=3, seed=0)
    expected = [(1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (6, 7), (7, 6)]
    assert pairs(batches) == expected
    assert batches.steps_per_epoch == 3
    assert batches.tokens_per_epoch == 7


def test_the_width_of_windows_is_drawn_evenly() -> None:
    long = [np.arange(1, 2001)]
    batches = Contexts(long, np.ones(2001), window=4, batch_size=5000, seed=0)
    batch = batches.next()
    widths = (batch.contexts != NOBODY).sum(1)[10:-10] / 2
    shares = np.bincount(widths.int().numpy())[1:] / len(widths)
    np.testing.assert_allclose(shares, 0.25, atol=0.04)
    centre = int(batch.centres[50])
    near = batch.contexts[50][batch.contexts[50] != NOBODY]
    assert near.tolist() == [centre + d for d in range(-4, 5) if d and centre + d in near.tolist()]


def test_frequent_words_are_left_out_at_random() -> None:
    counts = np.array([0, 9000, 990, 10])
    shares = kept_shares(counts, 1e-3)
    # √(0.001 / 0.9) + 0.001 / 0.9 and so on; a word of one in a thousand is always kept
    np.testing.assert_allclose(shares, [0, 0.0344, 0.1106, 1.0], atol=1e-4)
    text = [np.repeat([1, 2, 3], [9000, 990, 10])]
    batches = Contexts(text, shares, window=1, batch_size=10_000, seed=0)
    kept = np.bincount(batches.next().centres.numpy(), minlength=4) / np.maximum(counts, 1)
    np.testing.assert_allclose(kept, shares, atol=0.03)
    np.testing.assert_array_equal(kept_shares(counts, 0), [0, 1, 1, 1])


def test_words_that_are_left_out_bring_others_closer() -> None:
    kept = np.array([0, 1, 0, 1, 0, 0, 0, 0.0])
    assert pairs(Contexts(SENTENCES, kept, window=1, batch_size=9)) == [(1, 3), (3, 1)]


def test_tokens_count_the_text_and_cover_it() -> None:
    batches = Contexts(SENTENCES, kept_shares(np.arange(8), 0.1), window=2, batch_size=3)
    sizes = []
    while (batch := batches.next()) is not None:
        sizes.append(batch.tokens)
    assert sizes == [3, 3, 1]


def test_a_position_continues_exactly() -> None:
    first = Contexts(SENTENCES * 20, ALL, window=2, batch_size=9, seed=3)
    for _ in range(25):  # into the second epoch
        first.next()
    second = Contexts(SENTENCES * 20, ALL, window=2, batch_size=9, seed=3)
    second.go_to(first.position())
    one, other = first.next(), second.next()
    assert one.centres.tolist() == other.centres.tolist()
    assert one.contexts.tolist() == other.contexts.tolist()


def test_epochs_differ_and_validation_does_not() -> None:
    def orders(seed: int | None) -> list[list[int]]:
        batches = Contexts(SENTENCES * 20, ALL, window=2, batch_size=1000, seed=seed)
        found = []
        for _ in range(2):
            found.append(batches.next().centres.tolist())
            assert batches.next() is None
        return found

    shuffled, still = orders(0), orders(None)
    assert shuffled[0] != shuffled[1]
    assert sorted(shuffled[0]) == sorted(shuffled[1])
    assert still[0] == still[1] == [number for row in SENTENCES * 20 for number in row]
