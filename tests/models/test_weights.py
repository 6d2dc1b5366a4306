"""Eight-bit weights: packing, unpacking, single steps."""

import copy

import numpy as np
import pytest
import torch

from elman.layers.inputs import Material
from elman.models.recurrent import RecurrentConfig, RecurrentModel
from elman.models.weights import is_packed, pack, unpack

WORDS = 40


def make(**settings) -> RecurrentModel:
    torch.manual_seed(1)
    config = RecurrentConfig(hidden_size=32, embedding_size=32, num_layers=2, **settings)
    return RecurrentModel(config, Material(torch.ones(WORDS, dtype=torch.long), 0)).eval()


def quantised(model: RecurrentModel) -> RecurrentModel:
    return RecurrentModel.restore(model.config, pack(model.arrays()), model.facts())


def step_by_step(model: RecurrentModel, ids: torch.Tensor) -> torch.Tensor:
    state, log_probs = model.start(len(ids)), []
    for t in range(ids.shape[1]):
        log_probs.append(model.predict(state).gather(1, ids[:, t : t + 1]))
        state = model.read(ids[:, t : t + 1], state)
    return torch.cat(log_probs, dim=1)


@pytest.fixture
def ids() -> torch.Tensor:
    return torch.randint(WORDS, (2, 12), generator=torch.Generator().manual_seed(2))


def test_matrices_are_packed_and_the_rest_is_left_alone() -> None:
    arrays = {
        "matrix": np.array([[1.0, -0.5], [0.0, 127.0]], dtype=np.float32),
        "vector": np.ones(3, dtype=np.float32),
        "counts": np.ones((2, 2), dtype=np.int64),
    }
    packed = pack(arrays)
    assert packed["matrix"].dtype == np.int8
    assert packed["matrix"][1].tolist() == [0, 127]  # the scale of that row is one
    assert packed["vector"] is arrays["vector"]
    assert packed["counts"] is arrays["counts"]
    unpacked = unpack(packed)
    assert unpacked.keys() == arrays.keys()
    assert np.allclose(unpacked["matrix"], arrays["matrix"], atol=0.5 / 127)


def test_plain_arrays_are_not_touched() -> None:
    arrays = {"matrix": np.eye(2, dtype=np.float32)}
    assert not is_packed(arrays)
    assert unpack(arrays) is arrays


def test_scales_that_do_not_fit_are_refused() -> None:
    packed = pack({"matrix": np.eye(3, dtype=np.float32)})
    with pytest.raises(ValueError, match="3 rows, but 1 scales"):
        unpack({**packed, "matrix.scales": np.ones(1, dtype=np.float32)})


@pytest.mark.parametrize("settings", [{"tied": True}, {"tied": False, "cell": "gru"}])
def test_it_predicts_nearly_the_same(settings: dict, ids: torch.Tensor) -> None:
    model = make(init="uniform", init_scale=0.3, **settings)
    near = quantised(model)
    with torch.no_grad():
        exact, rounded = (each.score(ids, each.start(2))[0] for each in (model, near))
        stepped = step_by_step(near, ids)
    assert not torch.equal(exact, rounded)
    assert torch.allclose(exact, rounded, atol=0.1)
    assert torch.allclose(rounded, stepped, atol=0.1)


def test_single_steps_use_the_eight_bits(ids: torch.Tensor) -> None:
    near = quantised(make(tied=True, init="uniform", init_scale=0.3))
    copied = copy.deepcopy(near)  # has weights of its own, and steps with those
    with torch.no_grad():
        whole = copied.score(ids, copied.start(2))[0]
        assert not torch.allclose(step_by_step(near, ids), whole, atol=1e-4)
        assert torch.allclose(step_by_step(copied, ids), whole, atol=1e-5)


def test_weights_that_change_are_followed(ids: torch.Tensor) -> None:
    near = quantised(make(tied=True, init="uniform", init_scale=0.3))
    with torch.no_grad():
        for parameter in near.parameters():
            parameter.mul_(0.5)
        whole = near.score(ids, near.start(2))[0]
        assert torch.allclose(step_by_step(near, ids), whole, atol=1e-5)


def test_gradients_come_from_the_weights_themselves(ids: torch.Tensor) -> None:
    near = quantised(make(tied=True))
    step_by_step(near, ids).sum().backward()
    assert all(parameter.grad is not None for parameter in near.parameters())
