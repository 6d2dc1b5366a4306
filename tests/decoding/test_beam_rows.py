"""Beam search over many rows: each as if alone, and compared with full enumeration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
import torch

from elman.decoding.beam import Hypothesis, beam_search, beam_search_rows
from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import sample
from elman.decoding.transforms import likeliest
from elman.errors import ElmanError, InputError

STOP = 2
SOURCES = torch.tensor(
    [[4, 1, -1, -1], [0, 1, 2, 3], [6, -1, -1, -1], [2, 2, 2, -1], [5, 3, -1, -1], [1, 0, 3, 6]]
)


def search(
    model: Any, sources: torch.Tensor = SOURCES, limits: Sequence[int] | None = None, **options: Any
) -> list[list[Hypothesis]]:
    state = model.start(len(sources), sources)
    options = {"stop_ids": (STOP,), **options}
    return beam_search_rows(model, state, DecodingOptions(**options), limits=limits)


def ids_of(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.ids for hypothesis in row] for row in found]


def enumerated(
    model: Any, source: torch.Tensor, length: int, length_penalty: float, coverage_penalty: float
) -> list[tuple[float, tuple[int, ...]]]:
    """Every continuation of one source with its score, computed token by token."""
    scored = []
    for shorter in range(1, length + 1):
        for ids in product(range(model.vocabulary_size), repeat=shorter):
            if STOP in ids[:-1] or (ids[-1] != STOP and shorter < length):
                continue
            state, log_prob, attended = model.start(1, source[None]), 0.0, [0.0] * len(source)
            for token in ids:
                log_prob += float(model.predict(state)[0, token])
                looks = model.attention(state)[0][0].tolist()
                attended = [a + look for a, look in zip(attended, looks, strict=True)]
                state = model.read(torch.tensor([[token]]), state)
            real = [a for a, word in zip(attended, source.tolist(), strict=True) if word >= 0]
            coverage = sum(math.log(min(a, 1.0)) for a in real)
            normaliser = ((5 + len(ids)) / 6) ** length_penalty
            scored.append((log_prob / normaliser + coverage_penalty * coverage, ids))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("coverage_penalty", [0.0, 0.4, 3.0])
def test_a_wide_beam_is_exhaustive(
    source_model: Any, length_penalty: float, coverage_penalty: float
) -> None:
    penalties = {"length_penalty": length_penalty, "coverage_penalty": coverage_penalty}
    found = search(source_model, beam=200, n_best=5, max_tokens=3, **penalties)
    for row, source in zip(found, SOURCES, strict=True):
        expected = enumerated(source_model, source, 3, length_penalty, coverage_penalty)[:5]
        assert [hypothesis.ids for hypothesis in row] == [ids for _, ids in expected]
        scores = [hypothesis.score for hypothesis in row]
        assert scores == pytest.approx([score for score, _ in expected], abs=1e-5)


def test_the_coverage_penalty_changes_what_is_best(source_model: Any) -> None:
    options = {"beam": 200, "max_tokens": 3}
    assert search(source_model, **options) != search(source_model, coverage_penalty=3.0, **options)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("coverage_penalty", [0.0, 0.4])
def test_a_row_does_not_depend_on_its_neighbours(
    source_model: Any, beam: int, coverage_penalty: float
) -> None:
    options = {
        "beam": beam,
        "n_best": beam,
        "max_tokens": 9,
        "length_penalty": 0.8,
        "coverage_penalty": coverage_penalty,
    }
    together = search(source_model, **options)
    for number in range(len(SOURCES)):
        assert search(source_model, SOURCES[number : number + 1], **options) == [together[number]]
    assert search(source_model, SOURCES.flip(0), **options) == together[::-1]


def test_a_beam_of_one_is_greedy(source_model: Any) -> None:
    found = search(source_model, beam=1, max_tokens=12)
    for row, source in zip(found, SOURCES, strict=True):
        options = DecodingOptions(greedy=True, max_tokens=12, stop_ids=(STOP,))
        steps = sample(source_model, source_model.start(1, source[None]), options)
        assert row[0].ids == tuple(step[0] for step in steps)


def test_rows_that_are_done_leave_the_batch(source_model: Any) -> None:
    # Word 0 stops at once; words 1 and 6 never do.
    table = torch.full((7, 4, 3), -torch.inf)
    table[0, :, STOP] = 0.0
    table[1:, :, 1] = 0.0
    source_model.table, source_model.vocabulary_size = table, 3
    sources = torch.tensor([[0], [1], [0], [6]])
    found = search(source_model, sources, beam=1, max_tokens=3)
    assert ids_of(found) == [[(STOP,)], [(1, 1, 1)], [(STOP,)], [(1, 1, 1)]]
    assert source_model.predicted == [4, 2, 2]


def test_each_row_has_its_own_limit(source_model: Any) -> None:
    limits = [0, 1, 2, 3, 4, 99]
    found = search(source_model, limits=limits, beam=3, n_best=3, max_tokens=5, banned=(STOP,))
    lengths = [{len(hypothesis.ids) for hypothesis in row} for row in found]
    assert lengths == [{0}, {1}, {2}, {3}, {4}, {5}]
    for number, limit in enumerate(limits[1:5], 1):
        alone = {"beam": 3, "n_best": 3, "max_tokens": limit, "banned": (STOP,)}
        assert search(source_model, SOURCES[number : number + 1], **alone) == [found[number]]


def test_a_limit_bounds_what_a_length_penalty_can_give(source_model: Any) -> None:
    options = {"beam": 4, "length_penalty": 3.0}
    found = search(source_model, limits=[2] * 6, max_tokens=50, **options)
    assert found == search(source_model, max_tokens=2, **options)


def test_nothing_stops_before_the_least_number_of_tokens(source_model: Any) -> None:
    found = search(source_model, beam=5, n_best=5, min_tokens=3, max_tokens=6)
    lengths = [len(hypothesis.ids) for row in found for hypothesis in row]
    assert min(lengths) == 4  # three, and the stop
    wide = search(source_model, beam=99, n_best=99, max_tokens=3)
    least = search(source_model, beam=99, n_best=99, min_tokens=1, max_tokens=3)
    assert [[h for h in row if len(h.ids) > 1] for row in wide] == least


def test_sampling_keeps_the_least_number_too(table_model: Any) -> None:
    options = DecodingOptions(samples=20, min_tokens=4, max_tokens=6, stop_ids=(0, 1, 3))
    steps = list(sample(table_model, table_model.start(20), options))
    assert not {token for step in steps[:4] for token in step} & {0, 1, 3}
    assert {token for step in steps[4:] for token in step} & {0, 1, 3}


def test_no_row_at_all(source_model: Any) -> None:
    assert search(source_model, SOURCES[:0], beam=3) == []


def test_a_finished_callback_sees_every_hypothesis(source_model: Any) -> None:
    options = DecodingOptions(beam=3, max_tokens=8)
    state = source_model.start(6, SOURCES)
    found = beam_search_rows(source_model, state, options, finished=lambda ids: len(ids) == 2)
    assert {len(row[0].ids) for row in found} == {2}


def test_coverage_by_hand(source_model: Any) -> None:
    # One token for ever, then the limit of two: each place is looked at twice with these shares.
    source_model.table = torch.zeros(7, 2, 1)
    source_model.vocabulary_size = 1
    source_model.looks = torch.tensor([[0.1, 0.3, 0.6]]).expand(2, 3)
    sources = torch.tensor([[0, 0, 0]])
    options = {"beam": 1, "max_tokens": 2, "stop_ids": (), "coverage_penalty": 0.5}
    (row,) = search(source_model, sources, **options)
    # .5 * (log .2 + log .6 + log min(1.2, 1)) = .5 * (-1.6094 - 0.5108) = -1.0601
    assert row[0].score == pytest.approx(-1.0601, abs=1e-4)
    assert row[0].log_prob == 0


def test_a_place_never_looked_at_leaves_scores_finite(source_model: Any) -> None:
    source_model.looks = torch.tensor([[0.5, 0.0, 0.5, 0.0]]).expand(6, 4)
    found = search(source_model, beam=3, max_tokens=4, coverage_penalty=0.2)
    assert all(math.isfinite(row[0].score) for row in found)


def test_what_cannot_be_done_is_refused(source_model: Any, table_model: Any) -> None:
    with pytest.raises(InputError, match="has no attention"):
        beam_search(
            table_model, table_model.start(1), DecodingOptions(beam=2, coverage_penalty=0.2)
        )
    with pytest.raises(InputError, match="coverage_penalty is for beam"):
        DecodingOptions(coverage_penalty=0.2)
    with pytest.raises(InputError, match="coverage_penalty is -1"):
        DecodingOptions(beam=2, coverage_penalty=-1)
    with pytest.raises(InputError, match="min_tokens is 5 but"):
        DecodingOptions(min_tokens=5, max_tokens=4)
    with pytest.raises(InputError, match="a stop id is forced, but min_tokens"):
        DecodingOptions(min_tokens=2, forced=(1, 2), stop_ids=(2,))
    source_model.table[6] = -torch.inf  # one row of many has no way to go on
    with pytest.raises(ElmanError, match="no continuation is possible"):
        search(source_model, beam=2)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_the_likeliest_tokens(count: int) -> None:
    # of equals the first, in the order of ids; whole numbers make many equals
    log_probs = -torch.randint(0, 4, (50, 7), generator=torch.Generator().manual_seed(1)).double()
    log_probs[3:9] = -torch.inf
    log_probs[5, 2] = 0.0
    values, ids = likeliest(log_probs, count)
    for row in range(50):
        order = sorted(range(7), key=lambda token: (-log_probs[row, token].item(), token))
        possible = [token for token in order[:count] if log_probs[row, token] > -torch.inf]
        assert [i for i in ids[row].tolist() if log_probs[row, i] > -torch.inf] == sorted(possible)
        assert values[row].tolist() == log_probs[row, ids[row]].tolist()
