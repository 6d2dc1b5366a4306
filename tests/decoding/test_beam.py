"""Beam search against enumeration of every continuation, and by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch

from elman.decoding.beam import beam_search, length_normaliser
from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import sample
from elman.errors import ElmanError, InputError
from elman.models.contract import LanguageModel

Build = Callable[[Sequence[Any]], Any]


def search(model: LanguageModel, **options: Any) -> list[tuple[tuple[int, ...], float, float]]:
    found = beam_search(model, model.start(1), DecodingOptions(**options))
    return [(hypothesis.ids, hypothesis.log_prob, hypothesis.score) for hypothesis in found]


def ids_of(model: LanguageModel, **options: Any) -> list[tuple[int, ...]]:
    return [ids for ids, _, _ in search(model, **options)]


def continuations(size: int, length: int, stop_ids: Sequence[int]) -> list[tuple[int, ...]]:
    """Every sequence that ends with its first stop id, or at `length` without one."""
    return [
        ids
        for shorter in range(1, length + 1)
        for ids in product(range(size), repeat=shorter)
        if not set(ids[:-1]) & set(stop_ids) and (ids[-1] in stop_ids or shorter == length)
    ]


def by_enumeration(
    model: LanguageModel, options: DecodingOptions
) -> list[tuple[tuple[int, ...], float, float]]:
    """The n best, each scored on its own by the model."""
    scored = []
    for ids in continuations(model.vocabulary_size, options.max_tokens, options.stop_ids):
        log_probs, _ = model.score(torch.tensor([ids]), model.start(1))
        log_prob = log_probs.double().sum().item()
        penalty = ((5 + len(ids)) / 6) ** options.length_penalty
        scored.append((ids, log_prob, log_prob / penalty))
    return sorted(scored, key=lambda entry: -entry[2])[: options.n_best]


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 3.0, -1.0])
@pytest.mark.parametrize("stop_ids", [(), (2,), (2, 4)])
@pytest.mark.parametrize("n_best", [1, 20])
def test_a_full_width_finds_the_best(
    table_model: Any, stop_ids: tuple[int, ...], length_penalty: float, n_best: int
) -> None:
    options = DecodingOptions(
        max_tokens=3, beam=6**3, n_best=n_best, stop_ids=stop_ids, length_penalty=length_penalty
    )
    found = beam_search(table_model, table_model.start(1), options)
    expected = by_enumeration(table_model, options)
    assert [hypothesis.ids for hypothesis in found] == [ids for ids, _, _ in expected]
    assert [h.log_prob for h in found] == pytest.approx([log_prob for _, log_prob, _ in expected])
    assert [h.score for h in found] == pytest.approx([score for _, _, score in expected])


@pytest.mark.parametrize("length_penalty", [0.0, 2.0])
@pytest.mark.parametrize("stop_ids", [(), (1,), (0, 3)])
def test_a_beam_of_one_is_greedy(
    table_model: Any, stop_ids: tuple[int, ...], length_penalty: float
) -> None:
    greedy = DecodingOptions(max_tokens=15, stop_ids=stop_ids, greedy=True)
    ids = tuple(step[0] for step in sample(table_model, table_model.start(1), greedy))
    beam = {"max_tokens": 15, "stop_ids": stop_ids, "length_penalty": length_penalty}
    assert ids_of(table_model, beam=1, **beam) == [ids]


def test_a_beam_of_one_ends_where_greedy_ends(bigram_model: Build) -> None:
    # Token 2 stops. Greedy stops at once: log .51 = -0.673. Going on would have scored better,
    # log .49 / (7 / 6) = -0.611, but the one place in the beam is taken.
    model = bigram_model([[0.0, 0.49, 0.51], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    options = {"max_tokens": 5, "stop_ids": (2,), "length_penalty": 1.0}
    assert ids_of(model, beam=1, **options) == [(2,)]
    assert ids_of(model, beam=2, **options) == [(1, 2)]


def test_a_beam_of_one_breaks_ties_as_greedy_does(constant_model: Build) -> None:
    assert ids_of(constant_model([0.2, 0.4, 0.4]), beam=1, max_tokens=2) == [(1, 1)]


def test_a_wider_beam_sees_past_the_likeliest_start(bigram_model: Build) -> None:
    # From 0: 1 has .6, 2 has .4. After 1 all three are equal: .6 * 1/3 = .2 at best.
    # After 2, 2 has .9: .4 * .9 = .36. Greedy starts with 1, a beam of two finds 2 2.
    model = bigram_model([[0.0, 0.6, 0.4], [1 / 3, 1 / 3, 1 / 3], [0.05, 0.05, 0.9]])
    assert ids_of(model, beam=1, max_tokens=2) == [(1, 0)]
    (best,) = beam_search(model, model.start(1), DecodingOptions(beam=2, max_tokens=2))
    assert best.ids == (2, 2)
    assert best.log_prob == pytest.approx(torch.tensor(0.36).log().item())


def test_the_length_penalty_by_hand(bigram_model: Build) -> None:
    # Token 2 stops. At once: p = .5, log -0.693. 1 then stop: p = .5 * .9 = .45, log -0.799.
    # Penalty 1 divides by (5 + 1) / 6 = 1 and (5 + 2) / 6 = 7/6: -0.693 against -0.684.
    model = bigram_model([[0.0, 0.5, 0.5], [0.1, 0.0, 0.9], [1.0, 0.0, 0.0]])
    options = {"beam": 3, "max_tokens": 2, "stop_ids": (2,), "n_best": 2}
    assert ids_of(model, **options) == [(2,), (1, 2)]
    assert ids_of(model, length_penalty=1.0, **options) == [(1, 2), (2,)]
    assert length_normaliser(torch.tensor(7), 2.0) == 4.0  # ((5 + 7) / 6) ** 2


def test_it_stops_when_nothing_can_catch_up(bigram_model: Build) -> None:
    # Stop token 2 has .8 at once; whatever goes on has .2 or less and can only lose.
    model = bigram_model([[0.1, 0.1, 0.8], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]])
    assert ids_of(model, beam=3, max_tokens=50, stop_ids=(2,)) == [(2,)]
    assert model.predicted == [1]


def test_a_length_penalty_makes_it_wait(bigram_model: Build) -> None:
    # log .8 = -0.223 at length 1. The best that goes on has log .1 = -2.303, and at length 50
    # would be divided by 55/6 = 9.17: -0.251, too little with penalty 1. With penalty 2 it is
    # divided by 84: -0.027 is still ahead, so the search has to go on.
    model = bigram_model([[0.1, 0.1, 0.8], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]])
    options = {"beam": 3, "max_tokens": 50, "stop_ids": (2,)}
    search(model, length_penalty=1.0, **options)
    assert model.predicted == [1]
    search(model, length_penalty=2.0, **options)
    assert len(model.predicted) > 2


def test_a_negative_length_penalty_does_not_stop_it_early(bigram_model: Build) -> None:
    # Token 2 stops: at once log .4 = -0.916; after 1, log .6 * 7 / 6 = -0.596. The bound for what
    # goes on lies at the next length, not at the last: there it is log .6 * 25 / 6 = -2.1.
    model = bigram_model([[0.0, 0.6, 0.4], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    options = {"beam": 2, "max_tokens": 20, "stop_ids": (2,), "length_penalty": -1.0}
    assert ids_of(model, **options) == [(1, 2)]


def test_equals_are_kept_in_the_order_of_their_ids(constant_model: Build) -> None:
    model = constant_model([0.5, 0.5])
    assert ids_of(model, beam=3, n_best=3, max_tokens=2) == [(0, 0), (0, 1), (1, 0)]


def test_one_call_per_step_for_all_hypotheses(table_model: Any) -> None:
    search(table_model, beam=4, max_tokens=5)
    assert table_model.predicted == [1, 4, 4, 4, 4]
    assert table_model.read_rows == [4, 4, 4, 4]  # and nothing is read after the last token


def test_the_beam_narrows_as_hypotheses_finish(constant_model: Build) -> None:
    # Token 2 stops. First 2 (.5), 0 (.3), 1 (.2): one finished, two places left. Then 0 2 (.15),
    # 1 2 (.10), 0 0 (.09): the two places are taken by finished ones, and the search is over.
    model = constant_model([0.3, 0.2, 0.5])
    options = {"beam": 3, "n_best": 3, "max_tokens": 9, "stop_ids": (2,), "length_penalty": 3.0}
    assert set(ids_of(model, **options)) == {(2,), (0, 2), (1, 2)}
    assert model.predicted == [1, 2]


def test_gradients_are_off(table_model: Any) -> None:
    search(table_model, beam=2, max_tokens=3)
    assert not table_model.gradients_were_on


def test_the_log_prob_is_the_models_own(table_model: Any) -> None:
    options = {"beam": 5, "n_best": 5, "max_tokens": 6, "banned": (0,), "forced": (5, 1)}
    for ids, log_prob, score in search(table_model, stop_ids=(3,), **options):
        log_probs, _ = table_model.score(torch.tensor([ids]), table_model.start(1))
        assert log_prob == score == pytest.approx(log_probs.sum().item(), abs=1e-5)


def test_banned_ids_never_come(table_model: Any) -> None:
    found = ids_of(table_model, beam=50, n_best=50, max_tokens=3, banned=(1, 4))
    assert {token for ids in found for token in ids} == {0, 2, 3, 5}


def test_forced_ids_come_first(table_model: Any) -> None:
    found = ids_of(table_model, beam=6, n_best=6, max_tokens=3, forced=(3, 3))
    assert sorted(found) == [(3, 3, last) for last in range(6)]


def test_an_impossible_continuation_is_never_returned(bigram_model: Build) -> None:
    # 0 -> 1 -> nowhere but 2 -> 0: one continuation of length 3, however wide the beam
    model = bigram_model([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert search(model, beam=9, n_best=9, max_tokens=3) == [((1, 2, 0), 0.0, 0.0)]


def test_a_dead_end_is_left_for_a_longer_way(bigram_model: Build) -> None:
    # 1 is likelier, but after it only the banned 3 can come
    rows = [[0.0, 0.7, 0.3, 0.0], [0.0, 0.0, 0.0, 1.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]
    assert ids_of(bigram_model(rows), beam=2, max_tokens=2, banned=(3,))[0] == (2, 0)
    with pytest.raises(ElmanError, match="no continuation is possible"):
        ids_of(bigram_model(rows), beam=1, max_tokens=2, banned=(3,))


def test_max_tokens_zero_is_the_empty_continuation(table_model: Any) -> None:
    assert search(table_model, beam=2, max_tokens=0) == [((), 0.0, 0.0)]


def test_what_it_cannot_start_from_is_refused(table_model: Any) -> None:
    with pytest.raises(InputError, match="set beam"):
        beam_search(table_model, table_model.start(1), DecodingOptions())
    with pytest.raises(InputError, match="one row, not 2"):
        beam_search(table_model, table_model.start(2), DecodingOptions(beam=2))
    with pytest.raises(InputError, match="stop_ids: id 9"):
        beam_search(table_model, table_model.start(1), DecodingOptions(beam=2, stop_ids=(9,)))
    table_model.table[:] = torch.nan
    with pytest.raises(ElmanError, match="predicted NaN or infinity"):
        beam_search(table_model, table_model.start(1), DecodingOptions(beam=2))
