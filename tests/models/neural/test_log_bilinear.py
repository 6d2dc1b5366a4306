"""The log-bilinear model against its formula."""

from collections.abc import Callable

import pytest
import torch

from elman.models.neural import NeuralModel

Make = Callable[..., NeuralModel]


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
