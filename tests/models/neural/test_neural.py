"""Neural models: starts of texts and lines, and saving."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.state import tensors

SIZE, EOS = 11, 0  # vocabulary, line end

Make = Callable[..., NeuralModel]


def test_a_text_begins_after_a_line_end(model: NeuralModel) -> None:
    begun = model.read(torch.full((2, 1), EOS), (torch.zeros(2), model.begin(2)))
    for one, other in zip(tensors(begun), tensors(model.start(2)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", ["feed-forward", "log-bilinear", "recurrent"])
def test_lines_that_stand_by_themselves(kind: str, make: Make) -> None:
    """After a line end nothing before it matters, in each row by itself."""
    model = make(kind, context="line")
    assert model.resets_at_lines
    assert not make(kind).resets_at_lines
    ids = torch.tensor([[3, 4, EOS, 5, 6, 7], [8, EOS, 9, 3, EOS, 4], [1, 2, 3, 4, 5, EOS]])
    whole, _ = model.score(ids, model.start(3))
    for row in range(3):
        state, expected = model.start(1), []
        for word in ids[row]:
            expected.append(model.predict(state)[0, word])
            state = model.start(1) if word == EOS else model.read(word.view(1, 1), state)
        assert torch.allclose(whole[row], torch.stack(expected), rtol=0, atol=1e-12)


def test_arrays_that_are_not_the_models_are_refused(model: NeuralModel) -> None:
    arrays = model.arrays()
    name = "input.weight"
    with pytest.raises(ValueError, match="do not match the model: input.weight"):
        model.load_arrays({key: value for key, value in arrays.items() if key != name})
    with pytest.raises(ValueError, match="do not match the model: another"):
        model.load_arrays(arrays | {"another": arrays[name]})
    with pytest.raises(ValueError, match=r"input.weight is \(11, 4\), not \(11, 5\)"):
        model.load_arrays(arrays | {name: arrays[name][:, :4]})


def test_loading_takes_over_every_array(model: NeuralModel, text: np.ndarray) -> None:
    arrays = {name: array.copy() for name, array in model.arrays().items()}
    ids = torch.from_numpy(text[:12]).view(2, 6)
    expected = model.score(ids, model.start(2))[0]
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.zero_()
    model.load_arrays(arrays)
    assert torch.equal(model.score(ids, model.start(2))[0], expected)
    assert all(parameter.requires_grad for parameter in model.parameters())
    with torch.no_grad():
        model.input.weight.zero_()
    assert np.any(arrays["input.weight"])  # a copy was taken


def test_descriptions_are_plain(model: NeuralModel) -> None:
    description = model.describe()
    assert description["model"] in MODELS
    assert description["vocabulary_size"] == SIZE
    assert description["parameters"] == sum(each.numel() for each in model.parameters())
