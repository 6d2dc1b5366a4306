"""Attentions against hand computations, and properties of all of them."""

from typing import Any

import numpy as np
import pytest
import torch

from elman.errors import InputError
from elman.layers.attentions import ATTENTIONS

QUERY, KEY, ROWS, STEPS, PLACES = 4, 6, 3, 2, 5
LOOKING = [name for name in ATTENTIONS if ATTENTIONS[name].looks]
DOTS = ("dot", "scaled-dot")  # which compare vectors of the same size
COVERING = [name for name in LOOKING if ATTENTIONS[name].can_cover]
LENGTHS = torch.tensor([5, 1, 3])


def made(name: str, *, coverage: bool = False, key_size: int = KEY, **options: Any) -> Any:
    torch.manual_seed(0)
    return ATTENTIONS[name](QUERY, key_size, coverage=coverage, **options).double()


def drawn(key_size: int = KEY) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    queries = torch.randn(ROWS, STEPS, QUERY, dtype=torch.float64)
    values = torch.randn(ROWS, PLACES, key_size, dtype=torch.float64)
    return queries, values, torch.arange(PLACES) < LENGTHS[:, None]


def one_score(name: str, weights: dict[str, np.ndarray], q: Any, v: Any, place: int, g: Any) -> Any:
    """The score of one query and one place, with coverage g, as the head of each file says."""
    cover = weights["cover.weight"][:, 0] * g if "cover.weight" in weights else 0
    if name == "dot":
        return q @ v
    if name == "scaled-dot":
        return q @ v / np.sqrt(QUERY)
    if name == "bilinear":
        return q @ (weights["key.weight"] @ v + cover)
    if name == "additive":
        inner = weights["query.weight"] @ q + weights["key.weight"] @ v + weights["key.bias"]
        return weights["score.weight"][0] @ np.tanh(inner + cover)
    return weights["places.weight"][place] @ q + weights["places.bias"][place]


@pytest.mark.parametrize("coverage", [False, True])
@pytest.mark.parametrize("name", LOOKING)
def test_weights_by_hand(name: str, coverage: bool) -> None:
    if coverage and name not in COVERING:
        pytest.skip("sees nothing of where it was")
    key_size = QUERY if name in DOTS else KEY
    attention = made(name, coverage=coverage, key_size=key_size)
    queries, values, real = drawn(key_size)
    covered = torch.rand(ROWS, PLACES, dtype=torch.float64)
    with torch.no_grad():
        found = attention(queries, attention.prepare(values), real, covered).numpy()
    arrays = {key: value.numpy() for key, value in attention.state_dict().items()}
    for row, length in enumerate(LENGTHS.tolist()):
        for step in range(STEPS):
            scores = np.array(
                [
                    one_score(
                        name,
                        arrays,
                        queries[row, step].numpy(),
                        values[row, place].numpy(),
                        place,
                        float(covered[row, place]),
                    )
                    for place in range(length)
                ]
            )
            expected = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(found[row, step, :length], expected, rtol=1e-12)


@pytest.mark.parametrize("name", DOTS)
def test_a_dot_product_of_vectors_of_different_sizes_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"gives 6 .* has 4; set model.bidirectional=false"):
        made(name)


def test_scaled_bilinear_scores_are_divided_by_the_root_of_the_size() -> None:
    queries, values, _ = drawn()
    plain, scaled = made("bilinear"), made("bilinear", scaled=True)
    expected = plain.scores(queries, plain.prepare(values)) / np.sqrt(QUERY)
    torch.testing.assert_close(scaled.scores(queries, scaled.prepare(values)), expected)


def test_a_dot_of_vectors_of_one_size_has_no_weights() -> None:
    attention = made("dot", key_size=QUERY)
    assert not list(attention.parameters())
    queries, values, _ = drawn(QUERY)
    scores = attention.scores(queries, attention.prepare(values))
    expected = one_score("dot", {}, queries[1, 0].numpy(), values[1, 2].numpy(), 2, None)
    assert float(scores[1, 0, 2]) == pytest.approx(expected)


@pytest.mark.parametrize("name", LOOKING)
def test_padding_gets_exactly_zero_and_does_not_matter(name: str) -> None:
    key_size = QUERY if name in DOTS else KEY
    attention = made(name, key_size=key_size)
    queries, values, real = drawn(key_size)
    covered = torch.zeros(ROWS, PLACES, dtype=torch.float64)
    weights = attention(queries, attention.prepare(values), real, covered)
    assert bool((weights.masked_select(~real.unsqueeze(1)) == 0).all())
    torch.testing.assert_close(weights.sum(2), torch.ones(ROWS, STEPS, dtype=torch.float64))
    wild = values.masked_fill(~real.unsqueeze(2), 1e9)
    again = attention(queries, attention.prepare(wild), real, covered)
    assert torch.equal(again, weights)


@pytest.mark.parametrize("name", LOOKING)
def test_gradients_are_finite_and_reach_every_weight(name: str) -> None:
    key_size = QUERY if name in DOTS else KEY
    attention = made(name, coverage=name in COVERING, key_size=key_size)
    queries, values, real = drawn(key_size)
    covered = torch.rand(ROWS, PLACES, dtype=torch.float64)
    weights = attention(queries.requires_grad_(), attention.prepare(values), real, covered)
    (weights * torch.randn_like(weights)).sum().backward()
    for parameter in (queries, *attention.parameters()):
        assert bool(parameter.grad.isfinite().all())
        assert float(parameter.grad.abs().sum()) > 0


def test_location_sees_nothing_beyond_its_places() -> None:
    attention = made("location", longest=2)
    queries, values, real = drawn()
    with torch.no_grad():
        weights = attention(queries, attention.prepare(values), real)
    assert float(weights[0, 0, 2:].abs().sum()) == 0
    assert float(weights[0, 0].sum()) == pytest.approx(1)
    with pytest.raises(InputError, match="longest=0"):
        made("location", longest=0)


def test_additive_has_a_size_of_its_own() -> None:
    assert made("additive", attention_size=7).query.out_features == 7


def test_without_attention_there_is_nothing_to_score() -> None:
    with pytest.raises(NotImplementedError):
        made("none").scores(*drawn()[:2])
