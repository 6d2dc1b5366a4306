"""Lines side by side: none is lost, padding is never counted and small, orders follow the seed."""

import json

import numpy as np
import pytest
import torch

from elman.batches import Batch, Lines
from elman.errors import InputError

EOS = 0


def text_of(lengths: list[int], *, open_end: bool = False) -> np.ndarray:
    """Lines of so many words; every word of the text is another."""
    words = iter(range(1, sum(lengths) + 1))
    ids = [token for length in lengths for token in [*(next(words) for _ in range(length)), EOS]]
    return np.array(ids[:-1] if open_end else ids)


def epoch(lines: Lines) -> list[Batch]:
    batches = []
    while (batch := lines.next()) is not None:
        batches.append(batch)
        assert len(batches) < 50_000, "an epoch without end"
    return batches


def rows(batches: list[Batch]) -> list[tuple[int, ...]]:
    """The targets of each row, without padding, in order."""
    return [
        tuple(row[:length])
        for batch in batches
        for row, length in zip(batch.targets.tolist(), batch.lengths.tolist(), strict=True)
    ]


LENGTHS = np.random.default_rng(0).integers(0, 30, 500).tolist()
TEXT = text_of(LENGTHS)
LINES = sorted(tuple(line) for line in np.split(TEXT, np.flatnonzero(TEXT == EOS)[:-1] + 1))


def test_the_example_of_the_docstring() -> None:
    (batch,) = epoch(Lines(np.array([1, 2, 3, EOS, 4, 5, EOS]), batch_size=2, eos_id=EOS))
    order = batch.lengths.argsort(descending=True)
    assert batch.lengths[order].tolist() == [4, 3]
    inputs, targets = batch.inputs[order], batch.targets[order]
    assert inputs[0].tolist() == [EOS, 1, 2, 3]
    assert targets[0].tolist() == [1, 2, 3, EOS]
    assert inputs[1, :3].tolist() == [EOS, 4, 5]
    assert targets[1, :3].tolist() == [4, 5, EOS]


@pytest.mark.parametrize("batch_size", [1, 7, 64, 1000])
def test_every_line_is_a_row_once_an_epoch(batch_size: int) -> None:
    lines = Lines(TEXT, batch_size=batch_size, eos_id=EOS)
    for _ in range(2):
        batches = epoch(lines)
        assert sorted(rows(batches)) == LINES
        assert sum(batch.tokens for batch in batches) == lines.tokens_per_epoch == len(TEXT)
        assert all(len(batch.inputs) <= batch_size for batch in batches)


def test_inputs_are_the_line_end_and_the_targets_but_the_last() -> None:
    for batch in epoch(Lines(TEXT, batch_size=16, eos_id=EOS)):
        assert batch.inputs[:, 0].eq(EOS).all()
        assert torch.equal(batch.inputs[:, 1:], batch.targets[:, :-1])
        last = batch.targets.gather(1, batch.lengths[:, None] - 1)
        assert last.eq(EOS).all()


def test_padding_is_not_counted() -> None:
    batch = Lines(text_of([9, 1, 4]), batch_size=3, eos_id=EOS).next()
    assert batch.inputs.numel() == 30
    assert batch.tokens == 10 + 2 + 5


def test_a_line_without_words_is_a_row() -> None:
    lines = Lines(np.array([EOS, EOS, 3, EOS]), batch_size=3, eos_id=EOS)
    assert sorted(rows(epoch(lines))) == [(EOS,), (EOS,), (3, EOS)]


def test_a_last_line_without_newline_is_ended() -> None:
    open_end = Lines(text_of([2, 3], open_end=True), batch_size=2, eos_id=EOS)
    closed = Lines(text_of([2, 3]), batch_size=2, eos_id=EOS)
    assert sorted(rows(epoch(open_end))) == sorted(rows(epoch(closed)))
    assert open_end.tokens_per_epoch == closed.tokens_per_epoch == 7


def test_a_text_of_one_line_without_newline() -> None:
    assert rows(epoch(Lines(np.array([5, 6]), batch_size=2, eos_id=EOS))) == [(5, 6, EOS)]


def test_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="no lines"):
        Lines(np.array([], dtype=np.int64), batch_size=2, eos_id=EOS)


# --- Order


def test_little_is_padding() -> None:
    batches = epoch(Lines(TEXT, batch_size=10, eos_id=EOS))
    padded = sum(batch.inputs.numel() for batch in batches)
    assert padded < 1.1 * len(TEXT)
    unsorted = sum(
        10 * max(LENGTHS[first : first + 10]) + 10 for first in range(0, len(LENGTHS), 10)
    )
    assert unsorted > 1.5 * len(TEXT)  # what it would be without buckets


def test_long_and_short_batches_come_mixed() -> None:
    widths = [batch.inputs.shape[1] for batch in epoch(Lines(TEXT, batch_size=10, eos_id=EOS))]
    assert abs(np.corrcoef(widths, np.arange(len(widths)))[0, 1]) < 0.5


def test_orders_differ_per_epoch_and_seed_and_are_the_same_for_the_same() -> None:
    def orders(seed: int) -> list[list[tuple[int, ...]]]:
        lines = Lines(TEXT, batch_size=10, eos_id=EOS, seed=seed)
        return [rows(epoch(lines)) for _ in range(3)]

    one, again, other = orders(1), orders(1), orders(2)
    assert one == again
    assert one[0] != one[1] != one[2] != one[0]
    assert one[0] != other[0]


def test_lines_of_a_batch_are_others_in_every_epoch() -> None:
    # More lines than a pool: else batches of sorted lines would be alike.
    lines = Lines(text_of([3] * 1200), batch_size=10, eos_id=EOS)
    first, second = ({frozenset(rows([batch])) for batch in epoch(lines)} for _ in range(2))
    assert not first & second


# --- Position


def test_a_position_is_exact_at_every_batch() -> None:
    def make() -> Lines:
        return Lines(TEXT, batch_size=60, eos_id=EOS, seed=3)

    lines = make()
    epoch(lines)
    for left in range(9, -1, -1):
        position = json.loads(json.dumps(lines.position()))
        rest = rows(epoch(lines)) + rows(epoch(lines))
        resumed = make()
        resumed.go_to(position)
        assert rows(epoch(resumed)) + rows(epoch(resumed)) == rest
        lines.go_to(position)
        assert len(epoch(lines)) == left
        lines.go_to(position)
        lines.next()


def test_only_the_stream_carries_a_state() -> None:
    from elman.batches import Stream

    assert Stream.carries_state
    assert not Lines.carries_state


def test_tokens_that_are_only_read_are_marked_so() -> None:
    ids = np.array([1, 2, EOS, 3, 4, 5, 6])  # the last line has no end
    learned = np.array([False, True, True, False, False, True, True])
    lines = Lines(ids, batch_size=2, eos_id=EOS, learned=learned)
    (batch,) = epoch(lines)
    order = batch.lengths.argsort()
    assert batch.targets[order].tolist() == [[1, 2, EOS, EOS, EOS], [3, 4, 5, 6, EOS]]
    assert batch.learned[order][0, :3].tolist() == [False, True, True]
    assert batch.learned[order][1].tolist() == [False, False, True, True, True]
    assert lines.tokens_per_epoch == 8
    assert lines.learned_per_epoch == 5
    assert batch.tokens == 8
    assert Lines(ids, batch_size=2, eos_id=EOS).learned_per_epoch == 8
