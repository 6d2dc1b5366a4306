"""Penalties, bans, forced ids and biases against hand computations with three tokens."""

from __future__ import annotations

import math

import pytest
import torch

from elman.decoding.distribution import (
    add_bias,
    ban,
    count_tokens,
    force,
    next_distribution,
    penalise_frequency,
    penalise_presence,
    penalise_repetition,
)
from elman.decoding.options import DecodingOptions
from elman.errors import ElmanError

IMPOSSIBLE = -torch.inf
LOG_PROBS = torch.tensor([[-1.0, -2.0, -3.0], [-1.0, IMPOSSIBLE, -0.5]])
COUNTS = torch.tensor([[0, 1, 2], [3, 0, 0]])


def assert_rows(scores: torch.Tensor, *rows: list[float]) -> None:
    torch.testing.assert_close(scores, torch.tensor(rows))


def test_counting_rows() -> None:
    assert count_tokens([[1, 2, 2], [0, 0, 0]], 3).tolist() == [[0, 1, 2], [3, 0, 0]]
    assert count_tokens([[], []], 3).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_frequency_grows_with_the_count() -> None:
    # -2 - .5*1 = -2.5, -3 - .5*2 = -4, -1 - .5*3 = -2.5
    scores = penalise_frequency(LOG_PROBS, COUNTS, 0.5)
    assert_rows(scores, [-1.0, -2.5, -4.0], [-2.5, IMPOSSIBLE, -0.5])


def test_presence_counts_once() -> None:
    # -2 - .5, -3 - .5, -1 - .5, whatever the count
    scores = penalise_presence(LOG_PROBS, COUNTS, 0.5)
    assert_rows(scores, [-1.0, -2.5, -3.5], [-1.5, IMPOSSIBLE, -0.5])


def test_repetition_multiplies_the_log_probability() -> None:
    # -2 * 1.5 = -3, -3 * 1.5 = -4.5, -1 * 1.5 = -1.5
    scores = penalise_repetition(LOG_PROBS, COUNTS, 1.5)
    assert_rows(scores, [-1.0, -3.0, -4.5], [-1.5, IMPOSSIBLE, -0.5])


def test_banned_ids_are_impossible() -> None:
    scores = ban(LOG_PROBS, (0, 2))
    assert_rows(scores, [IMPOSSIBLE, -2.0, IMPOSSIBLE], [IMPOSSIBLE] * 3)
    assert ban(LOG_PROBS, ()) is LOG_PROBS


def test_forced_ids_come_in_order_and_then_no_more() -> None:
    first, second = force(LOG_PROBS, (2, 0), 0), force(LOG_PROBS, (2, 0), 1)
    assert_rows(first, [IMPOSSIBLE, IMPOSSIBLE, -3.0], [IMPOSSIBLE, IMPOSSIBLE, -0.5])
    assert_rows(second, [-1.0, IMPOSSIBLE, IMPOSSIBLE], [-1.0, IMPOSSIBLE, IMPOSSIBLE])
    assert force(LOG_PROBS, (2, 0), 2) is LOG_PROBS


def test_forcing_the_impossible_is_refused() -> None:
    with pytest.raises(ElmanError, match="forced token 1"):
        force(LOG_PROBS, (1,), 0)


def test_the_arguments_are_left_alone() -> None:
    before = LOG_PROBS.clone()
    penalise_frequency(LOG_PROBS, COUNTS, 0.5)
    penalise_presence(LOG_PROBS, COUNTS, 0.5)
    penalise_repetition(LOG_PROBS, COUNTS, 1.5)
    ban(LOG_PROBS, (0, 2))
    force(LOG_PROBS, (2,), 0)
    assert torch.equal(LOG_PROBS, before)


def test_all_penalties_together() -> None:
    options = DecodingOptions(
        repetition_penalty=2.0, frequency_penalty=0.5, presence_penalty=0.25, banned=(3,)
    )
    log_probs = torch.tensor([[0.25, 0.25, 0.25, 0.25]], dtype=torch.float64).log()
    drawn_from = next_distribution(log_probs, options, [[0, 0, 1]])
    # token 0: 1/16 * exp(-1.0 - .25), token 1: 1/16 * exp(-.5 - .25), token 2: 1/4, token 3: none
    weights = torch.tensor([-1.25, -0.75, 0.0]).double().exp() * torch.tensor(
        [1 / 16, 1 / 16, 1 / 4]
    )
    torch.testing.assert_close(drawn_from[0, :3].exp(), weights / weights.sum())
    assert drawn_from[0, 3] == IMPOSSIBLE


def test_transforms_see_what_the_penalties_left() -> None:
    log_probs = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64).log()
    options = DecodingOptions(top_k=1, presence_penalty=5.0)
    assert next_distribution(log_probs, options, [[0]]).argmax() == 1


def test_a_bias_is_added_and_raises_nothing_from_the_dead() -> None:
    scores = add_bias(LOG_PROBS, [(1, 1.5), (2, -2.0)])
    assert_rows(scores, [-1.0, -0.5, -5.0], [-1.0, IMPOSSIBLE, -2.5])
    assert add_bias(LOG_PROBS, []) is LOG_PROBS


def test_a_bias_of_log_two_doubles_the_odds() -> None:
    # (2 * .25, .5, .25) / 1.25 = (.4, .4, .2)
    log_probs = torch.tensor([[0.25, 0.5, 0.25]]).log()
    options = DecodingOptions(logit_bias=((0, math.log(2)),))
    shaped = next_distribution(log_probs, options, [[]]).exp()
    torch.testing.assert_close(shaped, torch.tensor([[0.4, 0.4, 0.2]]))
