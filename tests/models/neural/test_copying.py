"""Copying from the source: probabilities by hand, out-of-vocabulary words."""

from typing import Any

import numpy as np
import pytest
import torch

from elman.batches.sources import source_of_ids
from elman.errors import InputError
from elman.layers.inputs import Material
from elman.models.encoder_decoder import EncoderDecoder, EncoderDecoderConfig

WORDS = ["<eos>", "<unk>", "a", "b", "c"]
V, FURTHER = len(WORDS), 2
MATERIAL = Material(torch.ones(V, dtype=torch.int64), 0, WORDS)


def make(**settings: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    config = EncoderDecoderConfig(
        copy=True, copy_places=FURTHER, embedding_size=4, hidden_size=4, **settings
    )
    return EncoderDecoder(config, MATERIAL).double()


# a Ada b Ada, of which Ada is unknown: her number is the first beyond the vocabulary.
SOURCE = source_of_ids([np.array([2, 1, 3, 1])], 0, [np.array([2, V, 3, V])])


def test_the_mixture_by_hand() -> None:
    model = make().eval()
    assert model.vocabulary_size == V + FURTHER
    with torch.no_grad():
        state = model.start(1, SOURCE)
        found = model.predict(state)[0].exp()
        (hidden, weights, _), _ = state
        gate = torch.sigmoid(model.output.gate(hidden))[0, 0]
        logits = hidden @ model.input.table.t() + model.output.bias
        expected = torch.cat([gate * logits.softmax(1)[0], torch.zeros(FURTHER)])
        for place, number in enumerate([2, V, 3, V, 0]):
            expected[number] += (1 - gate) * weights[0, place]
    torch.testing.assert_close(found, expected)
    assert float(found.sum()) == pytest.approx(1)
    assert float(found[V]) > 0
    assert float(found[V + 1]) < 1e-300


def test_it_learns_to_say_a_word_that_it_does_not_know() -> None:
    model = make().float()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    target = torch.tensor([[V, 0]])
    for _ in range(60):
        scores, _ = model.score(target, model.start(1, SOURCE))
        optimizer.zero_grad()
        (-scores.sum()).backward()
        optimizer.step()
    with torch.no_grad():
        assert float(model.predict(model.start(1, SOURCE))[0].argmax()) == V
        probability = float(model.score(target, model.start(1, SOURCE))[0].sum().exp())
    assert probability > 0.5


@torch.no_grad()
def test_an_unknown_word_that_was_copied_is_read_as_unknown() -> None:
    model = make().eval()
    start = model.start(1, SOURCE)
    found, expected = (
        model.predict(model.read(torch.tensor([[word]]), start))
        for word in (V, WORDS.index("<unk>"))
    )
    assert torch.equal(found, expected)
    assert not torch.equal(found, model.predict(model.read(torch.tensor([[2]]), start)))


@torch.no_grad()
def test_more_unknown_words_than_numbers_stay_unknown() -> None:
    model = make().eval()
    many = source_of_ids([np.array([1, 1, 1])], 0, [np.array([V, V + 1, V + 2])])
    probabilities = model.predict(model.start(1, many)).exp()
    assert float(probabilities.sum()) == pytest.approx(1)
    (_, weights, places), _ = model.start(1, many)
    assert places.tolist() == [[V, V + 1, WORDS.index("<unk>"), 0]]
    assert weights.shape == (1, 4)


@torch.no_grad()
def test_what_is_kept_is_read_the_same() -> None:
    model = make().float().eval()
    again = EncoderDecoder(model.config, MATERIAL).eval()
    again.load_arrays(model.arrays())
    assert again.facts()["unknown_id"] == WORDS.index("<unk>")
    ids = torch.tensor([[V, 2, 0]])
    found, expected = (m.score(ids, m.start(1, SOURCE))[0] for m in (again, model))
    assert torch.equal(found, expected)


def test_an_impossible_word_costs_much_but_breaks_nothing() -> None:
    model = make()
    scores, _ = model.score(torch.tensor([[V + 1]]), model.start(1, SOURCE))
    scores.sum().backward()
    assert float(scores.detach()) < -80
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_a_source_must_say_what_can_be_copied() -> None:
    with pytest.raises(ValueError, match="places"):
        make().start(1, source_of_ids([np.array([2])], 0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": "none"}, "copy=true: needs an attention"),
        ({"features": 3}, "copy=true: needs an attention, and a source that is text"),
        ({"output": "adaptive"}, "copy=true: needs output=full"),
        ({"output_options": {"smoothing": 0.1}}, "copy=true: needs output=full, without"),
    ],
)
def test_what_cannot_copy_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EncoderDecoderConfig(copy=True, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": "aditive"}, "unknown attention 'aditive'; did you mean 'additive'"),
        ({"attention_options": {"longest": 3}}, "unknown option 'longest' of the attention"),
        ({"attend": "later"}, "attend"),
        ({"context": "stream"}, "context"),
        ({"context": "start"}, "context=start: an attention context changes at every step"),
        ({"input_feeding": True}, "input_feeding=true: needs an attention and attend=after"),
        ({"coverage": True, "attention": "dot"}, "use bilinear or additive"),
        ({"coverage_penalty": -1.0}, "coverage_penalty=-1.0: must not be negative"),
        ({"coverage_penalty": 1.0, "attention": "none"}, "coverage_penalty: needs an attention"),
        ({"readout_size": -1}, "readout_size=-1"),
        ({"features": -1}, "model.features=-1: must not be negative"),
        ({"num_layers": 2, "hidden_size": (3, 4), "encoder_layers": 1}, "encoder_layers"),
        ({"output_options": {"smoothing": 1.0}}, "smoothing=1.0: must be from 0 to below 1"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        EncoderDecoder(
            EncoderDecoderConfig(**settings), Material(torch.ones(V, dtype=torch.int64), 0)
        )
