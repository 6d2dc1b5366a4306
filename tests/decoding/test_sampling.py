"""Sampling: the right frequencies, the right endings, no work in advance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import draw, sample
from elman.errors import ElmanError, InputError
from elman.models.contract import LanguageModel

Build = Callable[[Sequence[Any]], Any]


def rows_of(
    model: LanguageModel,
    options: DecodingOptions,
    finished: Callable[[int, list[int]], bool] | None = None,
) -> list[list[int]]:
    """All the ids of each row, once the stream has ended."""
    rows: list[list[int]] = [[] for _ in range(options.samples)]
    for step in sample(model, model.start(options.samples), options, finished):
        for row, token in zip(rows, step, strict=True):
            if token is not None:
                row.append(token)
    return rows


def test_draw_is_the_inverse_of_the_cumulative_sum() -> None:
    # cumulative: .2 .2 .7 1.0; token 1 is impossible
    log_probs = torch.tensor([0.2, 0.0, 0.5, 0.3], dtype=torch.float64).log()
    uniforms = [0.0, 0.19, 0.21, 0.69, 0.71, math.nextafter(1, 0)]
    assert draw(log_probs.expand(6, 4), uniforms) == [0, 0, 2, 2, 3, 3]


def test_draw_at_the_edges_never_takes_the_impossible() -> None:
    # exactly on the edge .5 the next possible one is taken; at the very end the last possible one
    log_probs = torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0], dtype=torch.float64).log()
    assert draw(log_probs.expand(3, 5), [0.0, 0.5, 1.0]) == [1, 3, 3]


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.just(0.0) | st.floats(1e-30, 1e3), min_size=1, max_size=9).filter(any),
    st.floats(0, 1) | st.sampled_from([0.0, math.nextafter(1, 0)]),
)
def test_draw_never_takes_the_impossible(row: list[float], uniform: float) -> None:
    log_probs = torch.log_softmax(torch.tensor([row], dtype=torch.float64).log(), dim=-1)
    assert row[draw(log_probs, [uniform])[0]] > 0


def test_frequencies_match_the_distribution(constant_model: Build) -> None:
    probs = [0.4, 0.05, 0.25, 0.0, 0.3]
    rows = rows_of(constant_model(probs), DecodingOptions(max_tokens=100, samples=100, seed=3))
    counts = Counter(token for row in rows for token in row)
    assert counts.total() == 10_000
    assert counts[3] == 0
    chi_square = sum(
        (counts[token] - 10_000 * p) ** 2 / (10_000 * p) for token, p in enumerate(probs) if p
    )
    assert chi_square < 16.3  # 3 degrees of freedom: exceeded once in a thousand


def test_frequencies_follow_the_state(table_model: Any) -> None:
    # With two steps, what comes second must follow P(. | 0, first), row by row.
    rows = rows_of(table_model, DecodingOptions(max_tokens=2, samples=4000, seed=1))
    first = Counter(row[0] for row in rows).most_common(1)[0][0]
    seconds = [row[1] for row in rows if row[0] == first]
    expected = table_model.table[0, first].exp()
    measured = torch.bincount(torch.tensor(seconds), minlength=6) / len(seconds)
    # five standard deviations of a frequency: 5 * sqrt(.25 / n)
    torch.testing.assert_close(measured, expected, atol=2.5 / math.sqrt(len(seconds)), rtol=0)


def test_a_sample_does_not_depend_on_how_many_there_are(table_model: Any) -> None:
    def options(samples: int) -> DecodingOptions:
        return DecodingOptions(max_tokens=12, samples=samples, seed=5, stop_ids=(2,))

    five = rows_of(table_model, options(5))
    assert len({tuple(row) for row in five}) > 1  # the rows are not copies of each other
    assert len({len(row) for row in five}) > 1  # and some end while others go on
    for samples in (1, 2, 4):
        assert rows_of(table_model, options(samples)) == five[:samples]


def test_rows_keep_their_state_when_others_end(table_model: Any) -> None:
    options = DecodingOptions(max_tokens=20, samples=8, seed=2)
    all_rows = rows_of(table_model, options)
    some_end = rows_of(table_model, options, lambda row, ids: row % 3 == 0 and len(ids) == 4)
    assert some_end == [ids[:4] if row % 3 == 0 else ids for row, ids in enumerate(all_rows)]


def test_the_seed_decides(table_model: Any) -> None:
    def rows(seed: int) -> list[list[int]]:
        return rows_of(table_model, DecodingOptions(max_tokens=30, seed=seed))

    assert rows(1) == rows(1) != rows(2)


def test_global_randomness_is_not_touched(table_model: Any) -> None:
    before = torch.get_rng_state()
    rows_of(table_model, DecodingOptions(max_tokens=5))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("options", [{"greedy": True}, {"temperature": 0.0}, {"top_k": 1}])
def test_greedy_takes_the_likeliest(bigram_model: Build, options: dict[str, Any]) -> None:
    # from 0 go to 1, from 1 to 2, from 2 to 0
    model = bigram_model([[0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])
    assert rows_of(model, DecodingOptions(max_tokens=5, **options)) == [[1, 2, 0, 1, 2]]


def test_greedy_breaks_ties_by_id(constant_model: Build) -> None:
    model = constant_model([0.2, 0.4, 0.4])
    assert rows_of(model, DecodingOptions(max_tokens=2, greedy=True)) == [[1, 1]]


def test_penalties_see_what_was_generated(constant_model: Build) -> None:
    # A presence penalty of 100 makes what has come hopeless: greedy counts down the ranking.
    model = constant_model([0.1, 0.4, 0.2, 0.3])
    options = DecodingOptions(max_tokens=4, greedy=True, presence_penalty=100.0)
    assert rows_of(model, options) == [[1, 3, 2, 0]]


def test_penalties_are_kept_apart_when_rows_end(constant_model: Build) -> None:
    # Both rows go 1 3 2 0; row 0 is stopped after the first, row 1 must not inherit its history.
    model = constant_model([0.1, 0.4, 0.2, 0.3])
    options = DecodingOptions(max_tokens=4, greedy=True, presence_penalty=100.0, samples=2)
    assert rows_of(model, options, lambda row, ids: row == 0) == [[1], [1, 3, 2, 0]]


def test_banned_ids_never_come(table_model: Any) -> None:
    options = DecodingOptions(max_tokens=50, samples=20, banned=(0, 4), softmax_alpha=0.0)
    assert {token for row in rows_of(table_model, options) for token in row} == {1, 2, 3, 5}


def test_banning_everything_is_refused(table_model: Any) -> None:
    with pytest.raises(ElmanError, match="no token is possible here"):
        rows_of(table_model, DecodingOptions(banned=tuple(range(6))))


def test_forced_ids_come_first_and_are_read(bigram_model: Build) -> None:
    # After the unlikely 2 forced first, and 0 forced second, greedy goes on from 0: 1, 2
    model = bigram_model([[0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]])
    options = DecodingOptions(max_tokens=4, greedy=True, forced=(2, 0))
    assert rows_of(model, options) == [[2, 0, 1, 2]]


def test_a_row_ends_with_its_stop_id(table_model: Any) -> None:
    options = DecodingOptions(max_tokens=200, samples=8, stop_ids=(2, 5))
    for row in rows_of(table_model, options):
        assert row[-1] in (2, 5)
        assert not {2, 5} & set(row[:-1])


def test_ended_rows_are_none_and_cost_nothing(bigram_model: Build) -> None:
    model = bigram_model([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    options = DecodingOptions(max_tokens=3, samples=6, stop_ids=(2,))
    steps = list(sample(model, model.start(6), options))
    going = [token == 1 for token in steps[0]]
    assert 0 < sum(going) < 6
    assert steps[1] == steps[2] == [1 if goes else None for goes in going]
    assert model.predicted == [6, sum(going), sum(going)]
    assert model.read_rows == [sum(going), sum(going)]  # and nothing is read after the last token


def test_the_stream_ends_when_all_rows_have(constant_model: Build) -> None:
    model = constant_model([0.0, 1.0])
    steps = list(sample(model, model.start(2), DecodingOptions(samples=2, stop_ids=(1,))))
    assert steps == [[1, 1]]
    assert model.read_rows == []


def test_finished_sees_row_and_ids_and_ends_the_row(table_model: Any) -> None:
    seen: list[tuple[int, list[int]]] = []

    def finished(row: int, ids: list[int]) -> bool:
        seen.append((row, list(ids)))
        return len(ids) == row + 1

    rows = rows_of(table_model, DecodingOptions(max_tokens=9, samples=3), finished)
    assert [len(row) for row in rows] == [1, 2, 3]
    expected = [(row, rows[row][:length]) for length in (1, 2, 3) for row in range(length - 1, 3)]
    assert seen == expected


def test_the_stream_does_not_run_ahead(table_model: Any) -> None:
    stream = sample(table_model, table_model.start(1), DecodingOptions(max_tokens=10))
    assert table_model.predicted == []
    next(stream)
    assert (len(table_model.predicted), len(table_model.read_rows)) == (1, 0)
    next(stream)
    assert (len(table_model.predicted), len(table_model.read_rows)) == (2, 1)


def test_gradients_are_off_for_the_model_and_on_for_the_caller(table_model: Any) -> None:
    for _ in sample(table_model, table_model.start(1), DecodingOptions(max_tokens=3)):
        assert torch.is_grad_enabled()
    assert not table_model.gradients_were_on


@pytest.mark.parametrize("length", [0, 1, 7])
def test_max_tokens(table_model: Any, length: int) -> None:
    assert len(rows_of(table_model, DecodingOptions(max_tokens=length))[0]) == length


def test_a_state_with_other_rows_is_refused(table_model: Any) -> None:
    with pytest.raises(InputError, match="has 3 rows but samples is 2"):
        next(sample(table_model, table_model.start(3), DecodingOptions(samples=2)))


def test_ids_the_model_lacks_are_refused(table_model: Any) -> None:
    with pytest.raises(InputError, match="banned: id 6"):
        next(sample(table_model, table_model.start(1), DecodingOptions(banned=(6,))))
