"""Quick draws give the ids of the general path, alone and in a batch."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elman.decoding.distribution import next_distribution
from elman.decoding.drawing import QuickDraw, draw_ids
from elman.decoding.options import DecodingOptions
from elman.decoding.sampling import Chooser, draw
from elman.errors import ElmanError

ASKED: list[dict[str, Any]] = [
    {},
    {"temperature": 0.7},
    {"temperature": 3.0},
    {"top_k": 1},
    {"top_k": 4},
    {"top_k": 1000},
    {"top_p": 0.6},
    {"top_p": 1.0},
    {"min_p": 0.3},
    {"temperature": 0.5, "top_k": 9, "top_p": 0.8, "min_p": 0.1},
]
ROWS, SIZE = 6, 37


def scores_of(seed: int, ties: bool, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if ties:  # few different scores, all exact in float32
        return torch.randint(-3, 3, (ROWS, SIZE), generator=generator).to(dtype)
    return (2 * torch.randn(ROWS, SIZE, generator=generator, dtype=torch.float64)).to(dtype)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("banned", [(), (0, 5, 36)])
def test_the_same_ids_as_the_general_path(
    asked: dict[str, Any], ties: bool, banned: tuple[int, ...]
) -> None:
    options = DecodingOptions(**asked, banned=banned)
    for seed in range(20):
        scores = scores_of(seed, ties)
        uniforms = np.random.default_rng(seed).random(ROWS).tolist()
        quick = QuickDraw(options).ids(scores, 0, uniforms)
        general = next_distribution(scores.log_softmax(1), options, [[]] * ROWS)
        if quick is None:  # greedy, and the likeliest token is banned
            assert banned
            assert options.transforms() == {"top-k": 1}
        else:
            assert quick == draw(general, uniforms)


@pytest.mark.parametrize("asked", ASKED)
def test_a_row_does_not_depend_on_the_others(asked: dict[str, Any]) -> None:
    draws = QuickDraw(DecodingOptions(**asked))
    for seed in range(20):
        scores = scores_of(seed, seed % 2 == 0, torch.float32)
        uniforms = np.random.default_rng(seed).random(ROWS).tolist()
        together = draws.ids(scores, 0, uniforms)
        alone = [
            draws.ids(scores[row : row + 1], 0, uniforms[row : row + 1]) for row in range(ROWS)
        ]
        assert [[number] for number in together or []] == alone


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.just(0.0) | st.floats(2.0**-99, 1000, width=32), min_size=1, max_size=40).filter(
        any
    ),
    st.floats(0, 1),
)
def test_weights_of_zero_are_never_drawn(row: list[float], uniform: float) -> None:
    for rows in (1, 2):
        weights = np.array([row] * rows, dtype=np.float32)
        found = draw_ids(weights, [uniform] * rows)
        assert found is not None
        assert all(row[number] > 0 for number in found)


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
def test_broken_scores_are_refused(broken: float) -> None:
    scores = torch.full((2, 5), broken)
    for asked in ASKED[:4]:
        with pytest.raises(ElmanError):
            Chooser(DecodingOptions(**asked)).choose(scores, [[], []], [0.5, 0.5])


def test_a_temperature_beyond_float32_is_greedy() -> None:
    scores = torch.tensor([[1.0, 3.0, 2.0]])
    assert Chooser(DecodingOptions(temperature=1e-45)).choose(scores, [[]], [0.99]) == [1]


def test_half_precision_can_be_drawn_from() -> None:
    scores = torch.tensor([[0.0, 100.0]], dtype=torch.bfloat16)
    assert Chooser(DecodingOptions()).choose(scores, [[]], [0.5]) == [1]
