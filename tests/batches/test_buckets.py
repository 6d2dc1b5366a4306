"""Batches of lines: complete, with little padding that never counts, ordered by the seed."""

import json
from collections import Counter

import numpy as np
import pytest
import torch

from elman.batches import Batch, Lines, Pairs, Source
from elman.batches.sources import source_of_ids, source_of_vectors
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


END = 0
SOURCES = [np.array([5, 6]), np.array([], dtype=np.int64), np.array([7])]
TARGETS = [np.array([1, 2, 3]), np.array([4]), np.array([2])]


def one_batch(**settings) -> Batch:
    return Pairs(SOURCES, TARGETS, batch_size=3, eos_id=END, seed=None, **settings).next()


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
    batch = Pairs(grids, TARGETS, batch_size=3, eos_id=END, vectors=True, seed=None).next()
    assert batch.source.vectors.shape == (3, 2, 3)


def test_every_pair_comes_once_an_epoch_and_stays_a_pair() -> None:
    drawn = np.random.default_rng(0)
    sources = [drawn.integers(1, 9, drawn.integers(0, 6)) for _ in range(57)]
    targets = [np.append(source[::-1], number + 10) for number, source in enumerate(sources)]
    pairs = Pairs(sources, targets, batch_size=5, eos_id=END, seed=3)
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
    pairs = Pairs(SOURCES * 9, TARGETS * 9, batch_size=2, eos_id=END, seed=1)
    for _ in range(20):
        pairs.next()
    position, expected = pairs.position(), pairs.next()
    again = Pairs(SOURCES * 9, TARGETS * 9, batch_size=2, eos_id=END, seed=1)
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


def test_what_makes_no_pairs_is_refused() -> None:
    with pytest.raises(InputError, match="3 sources but 2 targets"):
        Pairs(SOURCES, TARGETS[:2], batch_size=2, eos_id=END)
    with pytest.raises(InputError, match="no pairs"):
        Pairs([], [], batch_size=2, eos_id=END)
    with pytest.raises(ValueError, match="either ids or vectors"):
        Source(torch.ones(1, dtype=torch.long))
    with pytest.raises(ValueError, match="at least one vector"):
        source_of_vectors([np.zeros((0, 3))])


def test_an_empty_sentence_is_its_end() -> None:
    assert source_of_ids([SOURCES[1]], 4).ids.tolist() == [[4]]
