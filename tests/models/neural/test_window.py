"""The feed-forward model against its formula."""

from collections.abc import Callable

import pytest
import torch

from elman.models.neural import NeuralModel

SIZE = 11  # vocabulary

Make = Callable[..., NeuralModel]


@pytest.mark.parametrize("direct", [False, True])
def test_the_formula_of_bengio(direct: bool, make: Make) -> None:
    model = make("feed-forward", order=4, hidden_size=7, direct=direct)
    words = [3, 9, 4]
    x = torch.cat([model.input.weight[word] for word in words])  # oldest first
    h = torch.tanh(model.hidden.bias + model.hidden.weight @ x)
    u, w = model.output.weight[:, :7], model.output.weight[:, 7:]
    y = model.output.bias + u @ h
    if direct:
        y = y + w @ x
    assert w.shape == (SIZE, 15 if direct else 0)
    found = model.predict(model.read(torch.tensor([words]), model.start(1)))[0]
    assert torch.allclose(found, y.log_softmax(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("direct", [False, True])
def test_dropout_of_the_feed_forward_model_falls_on_everything_once(
    direct: bool, make: Make
) -> None:
    model = make("feed-forward", order=3, hidden_size=400, direct=direct, dropout=0.3).train()
    words = torch.ones(1, 50, 10, dtype=torch.float64)
    dropped = model.features(words).eq(0).double()
    assert dropped[..., :400].mean().item() == pytest.approx(0.3, abs=0.02)
    if direct:
        assert dropped[..., 400:].mean().item() == pytest.approx(0.3, abs=0.06)
    model.eval()
    assert not model.features(words).eq(0).any()


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_formula_of_the_log_bilinear_model(diagonal: bool, make: Make) -> None:
    model = make("log-bilinear", order=4, diagonal=diagonal)
    words = [3, 9, 4]
    vectors = [model.input.weight[word] for word in words]
    if diagonal:
        parts = [c * vector for c, vector in zip(model.places, vectors, strict=True)]
    else:
        matrices = [model.places[:, 5 * place : 5 * place + 5] for place in range(3)]
        parts = [c @ vector for c, vector in zip(matrices, vectors, strict=True)]
    predicted = sum(parts)
    y = torch.stack([predicted @ vector for vector in model.input.weight]) + model.output.bias
    found = model.predict(model.read(torch.tensor([words]), model.start(1)))[0]
    assert torch.allclose(found, y.log_softmax(0), rtol=0, atol=1e-12)


def test_a_fresh_log_bilinear_model_predicts_the_mean_of_its_words(make: Make) -> None:
    ids = torch.tensor([[3, 9, 4]])
    for diagonal in (False, True):
        model = make("log-bilinear", order=4, diagonal=diagonal, init="default")
        state = model.read(ids, model.start(1))
        mean = model.input.weight[ids[0]].mean(0)
        assert torch.allclose(state[0][0], mean, atol=1e-7)


def test_dropout_of_the_log_bilinear_model_falls_on_its_prediction(make: Make) -> None:
    model = make("log-bilinear", order=3, embedding_size=100, dropout=0.3).train()
    words = torch.randn(1, 50, 200, dtype=torch.float64)
    assert model.features(words).eq(0).double().mean().item() == pytest.approx(0.3, abs=0.03)
