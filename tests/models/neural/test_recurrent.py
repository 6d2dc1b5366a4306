"""The recurrent model: Elman's formula, penalties of training, sizes for a number of parameters."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.batches import Lines, Stream
from elman.errors import InputError
from elman.models.neural import NeuralModel
from elman.models.recurrent import activation_penalty, temporal_penalty

EOS = 0  # line end

Make = Callable[..., NeuralModel]


def test_the_formula_of_elmans_network(make: Make) -> None:
    model = make("recurrent", cell="elman", hidden_size=4)
    weights = model.stack.layers[0].directions[0].weights
    h = torch.zeros(4, dtype=torch.float64)
    for word in [EOS, 3, 9]:
        x = model.input.weight[word]
        h = torch.tanh(
            weights["hidden_input"] @ x + weights["hidden_state"] @ h + weights["hidden_bias"]
        )
    predicted = (
        model.output.project.weight @ h + model.output.project.bias
    )  # tied, and 4 units are not 5
    y = model.input.weight @ predicted + model.output.bias
    found = model.predict(model.read(torch.tensor([[3, 9]]), model.start(1)))[0]
    assert torch.allclose(found, y.log_softmax(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("lines", [False, True])
def test_penalties_are_those_of_awd_lstm_and_of_training_alone(
    lines: bool, make: Make, text: np.ndarray
) -> None:
    batch = (
        Lines(text, batch_size=6, eos_id=EOS) if lines else Stream(text, batch_size=3, window=9)
    ).next()
    model = make(
        "recurrent", dropout_output=0.5, activation_penalty=2.0, temporal_penalty=1.0
    ).train()
    torch.manual_seed(5)
    found, _ = model.loss(batch, None)
    torch.manual_seed(5)
    state = model.begin_encoding(len(batch.inputs))
    run = model.stack(model.input(batch.inputs), state, lengths=batch.lengths)
    mask = None
    if lines:
        mask = torch.arange(batch.inputs.shape[1]) < batch.lengths[:, None]
    ar, tar = activation_penalty(run.outputs, mask), temporal_penalty(run.raw_outputs, mask)
    assert ar > 0
    assert tar > 0
    assert torch.allclose(found.penalty, 2 * ar + tar, rtol=1e-12)
    assert model.eval().loss(batch, None)[0].penalty == 0


def test_each_penalty_alone(make: Make, text: np.ndarray) -> None:
    batch = Stream(text, batch_size=3, window=9).next()
    both, ar, tar, none = (
        make("recurrent", activation_penalty=a, temporal_penalty=b).train().loss(batch, None)[0]
        for a, b in [(2.0, 3.0), (2.0, 0.0), (0.0, 3.0), (0.0, 0.0)]
    )
    assert torch.allclose(both.penalty, ar.penalty + tar.penalty)
    assert ar.penalty.requires_grad
    assert tar.penalty.requires_grad
    assert none.penalty == 0


@pytest.mark.parametrize("cell", ["elman", "gru", "lstm", "mut1", "nas", "min-gru"])
def test_the_largest_model_within_a_number_of_parameters(cell: str, make: Make) -> None:
    model = make("recurrent", cell=cell, parameters=2000)
    count = model.facts()["parameters"]
    larger = model.config.hidden_size + 1
    more = make("recurrent", cell=cell, hidden_size=larger, embedding_size=larger)
    assert count <= 2000 < more.facts()["parameters"]
    assert model.config.embedding_size == model.config.hidden_size
    again = type(model).restore(model.config, model.arrays(), model.facts())
    assert again.facts() == model.facts()


def test_too_few_parameters_are_refused(make: Make) -> None:
    with pytest.raises(InputError, match="parameters=10: too few; with one unit"):
        make("recurrent", parameters=10)


# Two rows, three steps, two units.
OUTPUTS = torch.tensor([[[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]], [[2.0, 2.0], [1.0, 1.0], [9.0, 9.0]]])
MASK = torch.tensor([[True, True, True], [True, True, False]])


def test_activation_penalty() -> None:
    # (1 + 4 + 9 + 0 + 0 + 1) + (4 + 4 + 1 + 1 + 81 + 81) = 15 + 172 = 187, over 12
    assert activation_penalty(OUTPUTS).item() == torch.tensor(187 / 12).item()


def test_activation_penalty_of_real_tokens() -> None:
    # 15 + (4 + 4 + 1 + 1) = 25, over 5 tokens of 2 units
    assert activation_penalty(OUTPUTS, MASK).item() == 2.5


def test_temporal_penalty() -> None:
    # differences (2, -2), (-3, 1); (-1, -1), (8, 8): 4 + 4 + 9 + 1 + 1 + 1 + 64 + 64 = 148, over 8
    assert temporal_penalty(OUTPUTS).item() == 18.5


def test_temporal_penalty_of_real_tokens() -> None:
    # without the last: 4 + 4 + 9 + 1 + 1 + 1 = 20, over 3 pairs of 2 units
    assert temporal_penalty(OUTPUTS, MASK).item() == torch.tensor(20 / 6).item()


def test_no_neighbours_no_penalty() -> None:
    assert temporal_penalty(OUTPUTS[:, :1]).item() == 0
    assert temporal_penalty(OUTPUTS, torch.tensor([[True, False, True]] * 2)).item() == 0
    assert activation_penalty(OUTPUTS, torch.zeros(2, 3, dtype=torch.bool)).item() == 0


def test_gradients_stop_at_the_mask() -> None:
    outputs = OUTPUTS.clone().requires_grad_()
    (activation_penalty(outputs, MASK) + temporal_penalty(outputs, MASK)).backward()
    assert outputs.grad[1, 2].eq(0).all()
    assert outputs.grad[0].ne(0).all()
