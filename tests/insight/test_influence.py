"""Gradient × input against finite differences, leave-one-out against a second reading."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.insight.influence import Influence, LeaveOneOut
from elman.insight.insight import Subject, inputs_of

IDS = [3, 1, 4, 7, 5, 9]
KINDS = [
    ("recurrent", {"cell": "lstm"}),
    ("recurrent", {"cell": "elman", "output": "pointer", "tied": True}),
    ("recurrent", {"cell": "gru", "tied": True, "hidden_size": 5}),
    ("feed-forward", {"order": 4, "hidden_size": 4}),
    ("log-bilinear", {"order": 3}),
]


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_gradient_times_input_is_the_slope_of_fading_a_word_out(
    kind: str, settings: dict, subject: Callable[..., Subject]
) -> None:
    given = subject(IDS, kind, **settings)
    seen = Influence.look(given)
    faded, step = 2, 1e-6  # the word read third, a little weaker and a little stronger

    def log_probs(factor: float) -> np.ndarray:
        def fade(module: object, ids: object, vectors: torch.Tensor) -> torch.Tensor:
            factors = torch.ones(vectors.shape[1], 1, dtype=vectors.dtype)
            factors[faded - len(IDS)] = factor  # windows have starts before the text
            return vectors * factors

        model = given.model
        hook = model.input.register_forward_hook(fade)
        with torch.no_grad():
            text = inputs_of(given)[None]
            evidence, _ = model.advance(text, model.begin(1))
            scores = model.score_from(evidence, torch.from_numpy(given.ids)[None])[0].numpy()
        hook.remove()
        return scores

    slope = (log_probs(1 + step) - log_probs(1 - step)) / (2 * step)
    np.testing.assert_allclose(seen.values[faded], slope, rtol=1e-5, atol=1e-8)
    assert np.abs(slope[faded:]).max() > 1e-3
    assert not np.tril(seen.values, -1).any()


def test_leaving_out_is_a_second_reading(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, cell="gru")
    seen = LeaveOneOut.look(given)
    model, ids = given.model, torch.from_numpy(given.ids)[None]
    with torch.no_grad():
        whole = model.score(ids, model.start(1))[0][0]
        without = model.score(torch.tensor([[3, 1, 7, 5, 9]]), model.start(1))[0][0]  # no 4
    expected = (whole[3:] - without[2:]).numpy()  # of 7, 5 and 9
    np.testing.assert_allclose(seen.values[3, 3:], expected)
    assert not seen.values[0].any()  # the start cannot be left out
    assert not np.tril(seen.values, -1).any()


def test_what_a_window_does_not_see_has_no_influence(subject: Callable[..., Subject]) -> None:
    seen = Influence.look(subject(IDS, "feed-forward", order=3, hidden_size=4))
    assert not np.triu(seen.values, 2).any()  # two words before
    assert np.diagonal(seen.values, 1).all()


def test_the_strongest_come_first(subject: Callable[..., Subject]) -> None:
    values = np.array([[0.1, 0.5, -0.2], [0.0, -0.7, 0.3], [0.0, 0.0, 0.25]])
    seen = Influence(["<start>", "a", "b"], ["a", "b", "c"], values)
    assert seen.strongest(2) == [(1, 0.3), (2, 0.25), (0, -0.2)]
    assert seen.summary()[0].endswith(
        "depended most on 'a' (+0.30), 'b' (+0.25), '<start>' (-0.20)."
    )
    assert seen.to_data()["values"][2][0] is None
