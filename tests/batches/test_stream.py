"""A text as a stream: every token except the first of a column is a target exactly once."""

import json

import numpy as np
import pytest
import torch

from elman.batches import Batch, Stream
from elman.errors import InputError

TEXT = np.arange(1000)  # each token says where it stands


def epoch(stream: Stream) -> list[Batch]:
    batches = []
    while (batch := stream.next()) is not None:
        batches.append(batch)
        assert len(batches) < 50_000, "an epoch without end"
    return batches


def same(first: list[Batch], second: list[Batch]) -> bool:
    return len(first) == len(second) and all(
        torch.equal(one.inputs, other.inputs)
        and torch.equal(one.targets, other.targets)
        and one.rate_factor == other.rate_factor
        for one, other in zip(first, second, strict=True)
    )


def test_the_example_of_the_docstring() -> None:
    letters = np.array([ord(letter) for letter in "abcdefghijklm"])
    shown = [
        ["".join(map(chr, row)) for row in tensor.tolist()]
        for batch in epoch(Stream(letters, batch_size=2, window=3))
        for tensor in (batch.inputs, batch.targets)
    ]
    assert shown == [["abc", "ghi"], ["bcd", "hij"], ["de", "jk"], ["ef", "kl"]]


@pytest.mark.parametrize("jitter", [0.0, 4.0])
@pytest.mark.parametrize(("batch_size", "window"), [(1, 7), (3, 35), (7, 1), (20, 12), (4, 5000)])
def test_every_token_but_the_first_of_a_column_is_a_target_once(
    batch_size: int, window: int, jitter: float
) -> None:
    stream = Stream(TEXT, batch_size=batch_size, window=window, jitter=jitter)
    batches = epoch(stream)
    columns = torch.from_numpy(TEXT[: 1000 // batch_size * batch_size]).view(batch_size, -1)
    assert torch.equal(torch.cat([batch.inputs for batch in batches], dim=1), columns[:, :-1])
    assert torch.equal(torch.cat([batch.targets for batch in batches], dim=1), columns[:, 1:])
    assert sum(batch.tokens for batch in batches) == stream.tokens_per_epoch
    assert stream.tokens_per_epoch == columns.numel() - batch_size


def test_fewer_tokens_than_columns_are_left_out() -> None:
    stream = Stream(TEXT, batch_size=7, window=35)
    assert stream.tokens_per_epoch == 7 * (1000 // 7 - 1) > 1000 - 7 - 7


def test_windows_are_as_long_as_they_should_be() -> None:
    lengths = [batch.inputs.shape[1] for batch in epoch(Stream(TEXT, batch_size=3, window=35))]
    assert lengths == [35] * 9 + [17]  # columns of 333 have 332 targets


def test_the_second_epoch_is_the_first() -> None:
    stream = Stream(TEXT, batch_size=3, window=35)
    assert same(epoch(stream), epoch(stream))


def test_columns_go_on_from_window_to_window() -> None:
    before = None
    for batch in epoch(Stream(TEXT, batch_size=4, window=9, jitter=2)):
        if before is not None:
            assert torch.equal(batch.inputs[:, 0], before.targets[:, -1])
        before = batch


# --- Random lengths


def lengths_and_factors(**settings) -> tuple[np.ndarray, np.ndarray]:
    batches = epoch(Stream(np.zeros(700_000, np.int64), batch_size=1, window=70, **settings))
    return (
        np.array([batch.inputs.shape[1] for batch in batches[:-1]]),  # the last is cut off
        np.array([batch.rate_factor for batch in batches[:-1]]),
    )


def test_random_lengths_are_those_of_awd_lstm() -> None:
    lengths, _ = lengths_and_factors(jitter=5)
    halved = lengths < 52.5
    assert abs(halved.mean() - 0.05) < 0.01
    assert abs(lengths[~halved].mean() - 69.5) < 0.5  # rounded down
    assert abs(lengths[halved].mean() - 34.5) < 1
    assert abs(lengths[~halved].std() - 5) < 0.3


def test_no_random_window_is_shorter_than_five() -> None:
    lengths, factors = lengths_and_factors(jitter=100)
    assert lengths.min() == 5
    assert factors.min() == 5 / 70


def test_the_rate_follows_the_length_of_a_window() -> None:
    lengths, factors = lengths_and_factors(jitter=5)
    assert np.array_equal(factors, lengths / 70)
    assert set(lengths_and_factors()[1]) == {1.0}


def test_a_window_cut_off_by_the_end_has_the_rate_that_was_drawn() -> None:
    last = epoch(Stream(np.zeros(9, np.int64), batch_size=1, window=70, jitter=1e-9, seed=1))[-1]
    assert last.inputs.shape == (1, 8)
    assert last.rate_factor > 0.95


def test_random_lengths_follow_from_the_seed_and_differ_per_epoch() -> None:
    def make(seed: int) -> Stream:
        return Stream(TEXT, batch_size=2, window=20, jitter=5, seed=seed)

    one, again, other = make(1), make(1), make(2)
    first, second = epoch(one), epoch(one)
    assert same(first, epoch(again))
    assert same(second, epoch(again))
    assert not same(first, second)
    assert not same(first, epoch(other))


def test_drawing_lengths_leaves_torch_and_numpy_alone() -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    epoch(Stream(TEXT, batch_size=2, window=20, jitter=5))
    drawn = torch.rand(1).item(), np.random.rand()
    torch.manual_seed(0)
    np.random.seed(0)
    assert drawn == (torch.rand(1).item(), np.random.rand())


# --- Position


@pytest.mark.parametrize("jitter", [0.0, 3.0])
def test_a_position_is_exact_at_every_batch(jitter: float) -> None:
    def make() -> Stream:
        return Stream(TEXT, batch_size=3, window=35, jitter=jitter, seed=4)

    whole = make()
    second, third = (epoch(whole), epoch(whole), epoch(whole))[1:]
    stream = make()
    epoch(stream)
    for done in range(len(second) + 1):
        position = json.loads(json.dumps(stream.position()))  # as a run folder keeps it
        resumed = make()
        resumed.go_to(position)
        assert same(epoch(resumed), second[done:])
        assert same(epoch(resumed), third)
        stream.next()


def test_a_position_taken_does_not_move_on() -> None:
    stream = Stream(TEXT, batch_size=3, window=35, jitter=3)
    position = stream.position()
    first = epoch(stream)
    stream.go_to(position)
    assert same(epoch(stream), first)


# --- Too little


@pytest.mark.parametrize("tokens", [0, 1, 19, 39])
def test_too_little_text_is_refused(tokens: int) -> None:
    with pytest.raises(InputError, match=rf"{tokens} tokens?, too few for training.batch_size=20"):
        Stream(np.arange(tokens), batch_size=20, window=35)


def test_two_tokens_a_column_are_enough() -> None:
    (batch,) = epoch(Stream(np.arange(40), batch_size=20, window=35))
    assert batch.inputs.shape == (20, 1)
    assert batch.tokens == 20


def test_a_batch_moves_whole() -> None:
    batch = Batch(torch.ones(2, 3), torch.zeros(2, 3), torch.tensor([3, 1]), 0.5)
    moved = batch.to(torch.device("meta"))
    assert {each.device.type for each in (moved.inputs, moved.targets, moved.lengths)} == {"meta"}
    assert moved.rate_factor == 0.5


def test_tokens_that_are_only_read_are_marked_so() -> None:
    ids, learned = np.arange(13), np.arange(13) % 3 == 0
    stream = Stream(ids, batch_size=2, window=3, learned=learned)
    found = []
    while (batch := stream.next()) is not None:
        assert batch.learned is not None
        assert torch.equal(batch.learned, batch.targets % 3 == 0)
        assert batch.to(torch.device("cpu")).learned is not None
        found += batch.targets[batch.learned].tolist()
    # Columns 0 … 5 and 6 … 11; their first tokens are nobody's targets.
    assert sorted(found) == [3, 9]
    assert stream.learned_per_epoch == 2
    assert stream.tokens_per_epoch == 10
