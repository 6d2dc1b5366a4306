"""The output of a recurrent model as the sum of its layers (Melis et al. 2018)."""

from collections.abc import Callable

import pytest
import torch

from elman.errors import InputError
from elman.formats.portable_settings.describing import describe
from elman.models.neural import NeuralModel

IDS = torch.tensor([[1, 4, 2, 7, 3]])
Make = Callable[..., NeuralModel]


def test_the_hidden_vectors_are_the_sum_of_the_layers(make: Make) -> None:
    model = make("recurrent", cell="lstm", num_layers=3, sum_layers=True)
    with torch.no_grad():
        run = model.stack(model.input(IDS), model.begin_encoding(1))
        found = model.hidden_vectors(IDS, model.begin(1))
        first, second, third = run.layers
        assert torch.allclose(found, first + second + third, atol=1e-12)
        assert not torch.allclose(found, third)


def test_penalties_and_dropout_fall_on_the_sum(make: Make) -> None:
    settings = {"num_layers": 2, "sum_layers": True}
    model = make("recurrent", **settings, activation_penalty=1.0).train()
    with torch.no_grad():
        hidden, _, penalty = model.encode(IDS, model.begin_encoding(1))
        assert penalty == pytest.approx(float(hidden.square().mean()))
        dropped = make("recurrent", **settings, dropout_output=0.5).train()
        hidden, _, _ = dropped.encode(IDS, dropped.begin_encoding(1))
    zero = hidden[0] == 0
    assert zero.any()
    assert (zero == zero[0]).all()  # one mask for all steps


def test_one_layer_is_its_own_sum(make: Make) -> None:
    with torch.no_grad():
        plain, summed = (
            make("recurrent", sum_layers=value).score(IDS, make("recurrent").start(1))[0]
            for value in (False, True)
        )
    assert torch.equal(plain, summed)


@pytest.mark.parametrize(
    "settings",
    [{"num_layers": 2, "hidden_size": (4, 5)}, {"num_layers": 2, "connection": "dense"}],
)
def test_layers_of_different_sizes_are_refused(make: Make, settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="sum_layers=true: .* differ in size"):
        make("recurrent", sum_layers=True, **settings)


def test_formats_that_cannot_hold_it_say_so(make: Make) -> None:
    with pytest.raises(InputError, match="sum_layers cannot be written"):
        describe(make("recurrent", num_layers=2, sum_layers=True))
