"""Schedules of a stream: shuffled columns, growing windows and batches, and exact positions."""

import json

import numpy as np
import pytest
import torch

from elman.batches import Batch, Stream

TEXT = np.arange(1000)


def epoch(stream: Stream) -> list[Batch]:
    batches = []
    while (batch := stream.next()) is not None:
        batches.append(batch)
        assert len(batches) < 50_000, "an epoch without end"
    return batches


def columns(stream: Stream) -> torch.Tensor:
    """The inputs of an epoch, side by side."""
    return torch.cat([batch.inputs for batch in epoch(stream)], dim=1)


def test_a_partial_shuffle_rotates_every_column() -> None:
    stream = Stream(TEXT, batch_size=4, window=30, partial_shuffle=True, seed=5)
    first, second = columns(stream), columns(stream)
    for shown in (first, second):
        begins = []
        for number, row in enumerate(shown.tolist()):
            begin = row[0] - 250 * number
            begins.append(begin)
            assert row == [250 * number + (begin + place) % 250 for place in range(249)]
        assert len(set(begins)) > 1
    assert not torch.equal(first, second)


def test_inputs_and_targets_stay_together() -> None:
    learned = TEXT % 3 == 0
    stream = Stream(TEXT, batch_size=4, window=30, partial_shuffle=True, learned=learned)
    for batch in [*epoch(stream), *epoch(stream)]:
        step = batch.targets - batch.inputs
        assert ((step == 1) | (step == -249)).all()  # the end of a column, then its begin
        assert torch.equal(batch.learned, batch.targets % 3 == 0)


def test_windows_grow_with_the_progress() -> None:
    stream = Stream(TEXT, batch_size=2, window=40, window_start=10)
    lengths = []
    for progress in (0.0, 0.5, 1.0):
        stream.progress = progress
        lengths.append(stream.next().inputs.shape[1])
    assert lengths == [10, 25, 40]


def test_batches_grow_between_epochs() -> None:
    stream = Stream(TEXT, batch_size=20, window=40, batch_start=4)
    sizes = []
    for progress in (0.3, 0.5, 1.0):
        batches = epoch(stream)
        sizes.append({len(batch) for batch in batches})
        stream.progress = progress
        epoch(stream)
    assert sizes == [{4}, {9}, {12}]  # 4 + 16 · progress, when an epoch begins
    assert stream.tokens_per_epoch == 20 * 49


@pytest.mark.parametrize("steps", [1, 9, 25])
def test_a_position_restores_all_of_it(steps: int) -> None:
    given = {"batch_size": 6, "window": 30, "partial_shuffle": True, "batch_start": 3}
    stream = Stream(TEXT, **given, jitter=3.0, window_start=9)
    taken = 0
    while taken < steps:
        stream.progress = taken / 25
        taken += stream.next() is not None
    place = json.loads(json.dumps(stream.position()))
    other = Stream(TEXT, **given, jitter=3.0, window_start=9, seed=77)
    other.go_to(place)
    assert other.tokens_per_epoch == stream.tokens_per_epoch
    for _ in range(40):
        stream.progress = other.progress = 0.7
        one, two = stream.next(), other.next()
        assert (one is None) == (two is None)
        assert one is None or torch.equal(one.targets, two.targets)


@pytest.mark.parametrize(
    "wrong", [{"rows": 600}, {"rows": 0}, {"cuts": [1]}, {"cuts": "abc"}, {"cuts": [0.5] * 3}]
)
def test_a_wrong_position_is_refused(wrong: dict) -> None:
    stream = Stream(TEXT, batch_size=6, window=30, partial_shuffle=True, batch_start=3)
    with pytest.raises(ValueError, match="position"):
        stream.go_to(stream.position() | wrong)


def test_without_them_nothing_is_drawn() -> None:
    stream = Stream(TEXT, batch_size=6, window=30)
    assert set(stream.position()) == {"offset", "random"}
    state = stream.position()["random"]
    epoch(stream)
    assert stream.position()["random"] == state
