"""The network inside neural models: the training loss equals the score."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from elman.batches import Batch, Lines, Stream
from elman.errors import InputError
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.state import tensors

EOS, B = 0, 3  # line end, batch


def score_from_first(model: NeuralModel, batch: Batch) -> torch.Tensor:
    """The contract's scores of the targets, (B, T): after each input, the next word."""
    carried = model.begin(len(batch.inputs))
    nothing_predicted = (torch.zeros(len(batch.inputs)), carried)
    state = model.read(batch.inputs[:, :1], nothing_predicted)
    return model.score(batch.targets, state)[0]


def test_every_registered_family_is_here(families: set[str]) -> None:
    neural = {kind for kind in MODELS if MODELS[kind].task == "language-modelling"}
    assert families == neural


def test_the_loss_of_a_window_is_minus_the_score_of_its_targets(
    model: NeuralModel, text: np.ndarray
) -> None:
    batch = Stream(text, batch_size=B, window=13).next()
    loss, _ = model.loss(batch, None)
    assert loss.tokens == B * 13
    expected = -score_from_first(model, batch).sum()
    assert torch.allclose(loss.nats, expected, rtol=1e-12, atol=0)
    assert loss.penalty == 0


def test_the_loss_of_lines_is_minus_the_score_of_each_from_a_fresh_start(
    model: NeuralModel, text: np.ndarray
) -> None:
    batch = Lines(text, batch_size=6, eos_id=EOS).next()
    assert batch.lengths.unique().numel() > 1
    loss, _ = model.loss(batch, None)
    assert loss.tokens == batch.lengths.sum()
    expected = 0.0
    for row, length in zip(batch.targets, batch.lengths, strict=True):
        expected -= model.score(row[None, :length], model.start(1))[0].sum()
    assert torch.allclose(loss.nats, expected, rtol=1e-12, atol=0)


def test_what_is_only_read_costs_nothing_but_is_read(model: NeuralModel, text: np.ndarray) -> None:
    for batches in (Lines(text, batch_size=6, eos_id=EOS), Stream(text, batch_size=B, window=12)):
        batch = batches.next()
        learned = batch.targets % 2 == 0
        some, carried = model.loss(replace(batch, learned=learned), None)
        others, _ = model.loss(replace(batch, learned=~learned), None)
        everything, after = model.loss(batch, None)
        assert some.tokens + others.tokens == everything.tokens == batch.tokens
        assert 0 < some.tokens < everything.tokens
        assert torch.allclose(some.nats + others.nats, everything.nats, rtol=1e-12, atol=0)
        for one, other in zip(tensors(carried), tensors(after), strict=True):
            assert torch.equal(one, other)
        nothing, _ = model.loss(replace(batch, learned=learned & ~learned), None)
        assert (nothing.nats.item(), nothing.tokens) == (0.0, 0)


def test_padding_does_not_matter(model: NeuralModel, text: np.ndarray) -> None:
    batch = Lines(text, batch_size=6, eos_id=EOS).next()
    padding = torch.arange(batch.inputs.shape[1]) >= batch.lengths[:, None]
    assert padding.any()
    other = Batch(
        batch.inputs.masked_fill(padding, 7), batch.targets.masked_fill(padding, 8), batch.lengths
    )
    assert torch.equal(model.loss(batch, None)[0].nats, model.loss(other, None)[0].nats)


def test_two_windows_with_carried_state_are_one_long_one(
    model: NeuralModel, text: np.ndarray
) -> None:
    long = Stream(text, batch_size=B, window=24).next()
    short = Stream(text, batch_size=B, window=12)
    whole, end = model.loss(long, None)
    first, carried = model.loss(short.next(), None)
    second, last = model.loss(short.next(), carried)
    assert torch.allclose(first.nats + second.nats, whole.nats, rtol=1e-12, atol=0)
    assert first.tokens + second.tokens == whole.tokens
    for one, other in zip(tensors(end), tensors(last), strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-14)
    forgotten, _ = model.loss(Batch(long.inputs[:, 12:], long.targets[:, 12:]), None)
    assert not torch.allclose(second.nats, forgotten.nats, rtol=1e-6)


def test_gradients_end_where_the_window_began(model: NeuralModel, text: np.ndarray) -> None:
    stream = Stream(text, batch_size=B, window=12)
    _, carried = model.loss(stream.next(), None)
    assert not any(tensor.requires_grad for tensor in tensors(carried))
    loss, _ = model.loss(stream.next(), carried)
    loss.nats.backward()


def test_every_parameter_learns(model: NeuralModel, text: np.ndarray) -> None:
    model.train()
    loss, _ = model.loss(Stream(text, batch_size=B, window=30).next(), None)
    (loss.nats / loss.tokens + loss.penalty).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_a_step_along_the_gradient_lowers_the_loss(model: NeuralModel, text: np.ndarray) -> None:
    batch = Stream(text, batch_size=B, window=30).next()
    before, _ = model.loss(batch, None)
    before.nats.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 1e-5 * parameter.grad
    assert model.loss(batch, None)[0].nats < before.nats


def test_single_precision_is_close_to_double(model: NeuralModel, text: np.ndarray) -> None:
    batch = Stream(text, batch_size=B, window=13).next()
    exact, _ = model.loss(batch, None)
    single, carried = model.float().loss(batch, None)
    assert single.nats.dtype == torch.float32
    assert all(not t.is_floating_point() or t.dtype == torch.float32 for t in tensors(carried))
    assert single.nats.item() == pytest.approx(exact.nats.item(), rel=1e-5)


Make = Callable[..., NeuralModel]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("recurrent", {"bidirectional": True}, "may not see the words it predicts"),
        ("recurrent", {"cell": "lsmt"}, "unknown cell 'lsmt'; did you mean 'lstm'"),
        (
            "recurrent",
            {"activation_penalty": -1.0},
            "activation_penalty=-1.0: must not be negative",
        ),
        ("recurrent", {"temporal_penalty": -1.0}, "temporal_penalty=-1.0: must not be negative"),
        ("recurrent", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("recurrent", {"connection": "residual"}, "must be equal"),
        ("recurrent", {"output": "ful"}, "unknown output 'ful'; did you mean 'full'"),
        ("recurrent", {"init": "xavier"}, "unknown init 'xavier'"),
        ("recurrent", {"init_scale": -0.1}, "init_scale=-0.1: must not be negative"),
        ("recurrent", {"init_scale": float("nan")}, "init_scale=nan: must not be negative"),
        ("recurrent", {"dropout_words": 1.0}, "dropout_words=1.0: must be from 0 to below 1"),
        ("recurrent", {"embedding_size": 0}, "embedding_size=0: must be at least 1"),
        ("recurrent", {"embedding_size": "many"}, "embedding_size='many': expected a whole number"),
        ("recurrent", {"context": "lines"}, "unknown context 'lines'; did you mean 'line'"),
        (
            "recurrent",
            {"output": "sampled", "output_options": {"samples": 1}},
            "samples=1: must be at least 2",
        ),
        ("feed-forward", {"order": 1}, "order=1: must be at least 2"),
        ("feed-forward", {"order": "4"}, "order='4': expected a whole number"),
        ("feed-forward", {"hidden_size": 0}, "hidden_size=0: must be at least 1"),
        ("feed-forward", {"dropout": -0.1}, "dropout=-0.1: must be from 0 to below 1"),
        ("feed-forward", {"direct": True, "tied": True}, "tied=false"),
        ("log-bilinear", {"order": 0}, "order=0: must be at least 2"),
        ("log-bilinear", {"dropout": 1.5}, "dropout=1.5: must be from 0 to below 1"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_settings_are_refused_in_one_line(
    kind: str, settings: dict, message: str, make: Make
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(kind, **settings)
    assert "\n" not in str(caught.value)
