"""Surprisal, nearest words and contexts, attention, and the record of a training."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from elman.errors import InputError
from elman.insight.attention import NONE, Attention
from elman.insight.insight import Subject, numbers
from elman.insight.nearest import NearestContexts, NearestWords
from elman.insight.surprisal import Surprisal
from elman.insight.training_record import TrainingRecord

IDS = [3, 1, 4, 1, 5, 9]


def test_surprisal_is_the_contract_in_bits(
    subject: Callable[..., Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elman.insight.surprisal._WINDOW", 4)
    given = subject(IDS, cell="gru")
    seen = Surprisal.look(given)
    model = given.model
    with torch.no_grad():
        scores = model.score(torch.tensor([IDS]), model.start(1))[0][0]
        first = model.predict(model.start(1))[0]
    np.testing.assert_allclose(seen.surprisals, -scores.numpy() / math.log(2))
    assert seen.entropies[0] == pytest.approx(float(-(first.exp() * first).sum()) / math.log(2))
    assert seen.expected[0][0][0] == given.vocabulary[int(first.argmax())]
    text = seen.drawings()[0].arguments
    assert "".join(word["text"] for word in text["words"]) == "".join(given.pieces)


def test_nearest_words_by_hand(subject: Callable[..., Subject]) -> None:
    given = subject([1, 2, 1])
    with torch.no_grad():
        table = given.model.input.table
        table.zero_()
        table[1, 0], table[2, :2], table[3, 0] = 2.0, torch.tensor([3.0, 4.0]), -1.0
    seen = NearestWords.look(given)
    assert seen.words == ["word1", "word2"]
    assert (seen.near[0][0].word, seen.near[0][0].cosine) == ("word2", pytest.approx(0.6))
    assert all(one.word != "word1" for one in seen.near[0])


def test_the_same_context_is_nearest(subject: Callable[..., Subject]) -> None:
    """A window of two words is in the same state wherever the two are the same."""
    given = subject([3, 1, 4, 2, 3, 1, 5], "feed-forward", order=3, hidden_size=6)
    seen = NearestContexts.look(given)
    assert seen.near[5][0].place == 1
    assert seen.near[5][0].cosine == pytest.approx(1.0)
    assert seen.near[5][0].context == "word3 word1"


def test_a_pointer_attends_to_the_words_before(subject: Callable[..., Subject]) -> None:
    given = subject(IDS, output="pointer", output_options={"pointer_window": 3}, tied=False)
    seen = Attention.look(given)
    (data,) = seen.to_data()["maps"]
    assert list(data) == ["name", "attended", "attending", "weights"]
    assert seen.attended == [*given.read, NONE]
    assert seen.weights.shape == (7, 6)
    np.testing.assert_allclose(np.nansum(seen.weights, axis=0), 1.0)
    assert np.isnan(seen.weights[4:6, 3]).all()  # what comes later
    assert np.isnan(seen.weights[0, 3])  # beyond the last three words
    assert (seen.weights[1:4, 3] > 0).all()
    model = given.model
    with torch.no_grad():  # the pointer gives the last word read its weight, and more
        state = model.read(torch.tensor([IDS[:3]]), model.start(1))
        assert model.predict(state)[0, IDS[2]].exp() >= seen.weights[3, 3]


def test_most_models_do_not_attend(subject: Callable[..., Subject]) -> None:
    with pytest.raises(InputError, match="no attention"):
        Attention.look(subject(IDS))


def test_the_record_of_a_training(subject: Callable[..., Subject]) -> None:
    history = [
        {"step": 10, "epoch": 0.5, "gradient_norm": 2.0, "largest_gradient_norm": 9.0,
         "clipped": 0.5, "learning_rate": 0.1},
        {"step": 10, "epoch": 0.5, "valid_perplexity": 80.0},
        {"step": 20, "epoch": 1.0, "gradient_norm": 1.0, "largest_gradient_norm": 3.0,
         "clipped": 0.0, "learning_rate": 0.1},
        {"step": 20, "epoch": 1.0, "diverged_at_step": 25, "problem": "loss nan"},
    ]  # fmt: skip
    seen = TrainingRecord.look(replace(subject(IDS), history=history))
    assert seen.epochs == [0.5, 1.0]
    assert seen.clipped == [0.5, 0.0]
    assert "25 % of the steps" in seen.summary()[0]
    assert "largest norm was 9; 1 divergences" in seen.summary()[0]
    assert seen.drawings()[0].arguments["marks"] == [{"x": 1.0, "name": "diverged"}]
    with pytest.raises(InputError, match="no history"):
        TrainingRecord.look(subject(IDS))


def test_numbers_are_json() -> None:
    assert numbers(np.array([[1.0, np.nan], [np.inf, 0.1234567]])) == [
        [1.0, None],
        [None, 0.123457],
    ]
