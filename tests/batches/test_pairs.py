"""Pairs of a source and a target side by side: what stands where, and that nothing is lost."""

from collections import Counter

import numpy as np
import pytest
import torch

from elman.batches import Batch, Pairs, Source
from elman.batches.sources import number_further, number_places, source_of_ids, source_of_vectors
from elman.errors import InputError

EOS = 0
SOURCES = [np.array([5, 6]), np.array([], dtype=np.int64), np.array([7])]
TARGETS = [np.array([1, 2, 3]), np.array([4]), np.array([2])]


def one_batch(**settings) -> Batch:
    return Pairs(SOURCES, TARGETS, batch_size=3, eos_id=EOS, seed=None, **settings).next()


def test_a_batch_by_hand() -> None:
    batch = one_batch(source_eos_id=9)  # by length of the target, then of the source
    assert batch.inputs.tolist() == [[0, 4, 0, 0], [0, 2, 0, 0], [0, 1, 2, 3]]
    assert batch.targets.tolist() == [[4, 0, 0, 0], [2, 0, 0, 0], [1, 2, 3, 0]]
    assert batch.lengths.tolist() == [2, 2, 4]
    assert batch.tokens == 8
    assert batch.source.ids.tolist() == [[9, 9, 9], [7, 9, 9], [5, 6, 9]]
    assert batch.source.lengths.tolist() == [1, 2, 3]
    assert batch.source.places is None


def test_places_end_in_the_end_of_the_target() -> None:
    places = [np.array([3, 11]), np.array([], dtype=np.int64), np.array([12])]
    batch = one_batch(source_eos_id=9, places=places)
    assert batch.source.places.tolist() == [[0, 0, 0], [12, 0, 0], [3, 11, 0]]


def test_vectors_are_padded_with_zeros() -> None:
    grids = [np.ones((2, 3)), np.full(3, 4.0), np.full((1, 3), 5.0)]
    source = source_of_vectors(grids)
    assert source.lengths.tolist() == [2, 1, 1]
    assert source.vectors[:, :, 0].tolist() == [[1, 1], [4, 0], [5, 0]]
    batch = Pairs(grids, TARGETS, batch_size=3, eos_id=EOS, vectors=True, seed=None).next()
    assert batch.source.vectors.shape == (3, 2, 3)


def test_every_pair_comes_once_an_epoch_and_stays_a_pair() -> None:
    drawn = np.random.default_rng(0)
    sources = [drawn.integers(1, 9, drawn.integers(0, 6)) for _ in range(57)]
    targets = [np.append(source[::-1], number + 10) for number, source in enumerate(sources)]
    pairs = Pairs(sources, targets, batch_size=5, eos_id=EOS, seed=3)
    assert pairs.tokens_per_epoch == sum(len(target) + 1 for target in targets)
    seen = Counter()
    while (batch := pairs.next()) is not None:
        for row in range(len(batch.inputs)):
            target = batch.targets[row, : batch.lengths[row] - 1].tolist()
            source = batch.source.ids[row, : batch.source.lengths[row] - 1].tolist()
            assert source == target[:-1][::-1]
            seen[target[-1]] += 1
    assert seen == Counter(range(10, 67))


def test_a_position_is_come_back_to() -> None:
    pairs = Pairs(SOURCES * 9, TARGETS * 9, batch_size=2, eos_id=EOS, seed=1)
    for _ in range(20):
        pairs.next()
    position, expected = pairs.position(), pairs.next()
    again = Pairs(SOURCES * 9, TARGETS * 9, batch_size=2, eos_id=EOS, seed=1)
    again.go_to(position)
    found = again.next()
    assert torch.equal(found.inputs, expected.inputs)
    assert torch.equal(found.source.ids, expected.source.ids)


def test_rows_and_devices_take_the_source_along() -> None:
    batch = one_batch().rows(slice(1, 3))
    assert len(batch.source) == 2
    assert batch.source.ids[:, 0].tolist() == [7, 5]
    moved = one_batch().to(torch.device("meta"))
    assert moved.source.ids.device.type == moved.inputs.device.type == "meta"


def test_unknown_words_get_numbers_beyond_the_vocabulary() -> None:
    words, ids = ["Ada", "met", "Bob", "Ada"], np.array([1, 4, 1, 1])
    places, unknown = number_places(words, ids, 1, 10)
    assert places.tolist() == [10, 4, 11, 10]
    assert unknown == ["Ada", "Bob"]
    target = number_further(["Bob", "Eve", "met"], np.array([1, 1, 4]), 1, 10, unknown)
    assert target.tolist() == [11, 1, 4]


def test_what_makes_no_pairs_is_refused() -> None:
    with pytest.raises(InputError, match="3 sources and 2 targets"):
        Pairs(SOURCES, TARGETS[:2], batch_size=2, eos_id=EOS)
    with pytest.raises(InputError, match="no pairs"):
        Pairs([], [], batch_size=2, eos_id=EOS)
    with pytest.raises(ValueError, match="either ids or vectors"):
        Source(torch.ones(1, dtype=torch.long))
    with pytest.raises(ValueError, match="at least one vector"):
        source_of_vectors([np.zeros((0, 3))])


def test_an_empty_sentence_is_its_end() -> None:
    assert source_of_ids([SOURCES[1]], 4).ids.tolist() == [[4]]
