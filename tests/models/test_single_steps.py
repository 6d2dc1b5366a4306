"""Prepared single steps: the same numbers, the same bits in every batch, never of old weights."""

import copy
import pickle

import numpy as np
import pytest
import torch

from elman.cells import stepping
from elman.models.recurrent import RecurrentConfig, RecurrentModel
from elman.models.single_steps import SingleSteps
from elman.state import State, select, tensors

SIZE = 53  # of the vocabulary
IDS = torch.from_numpy(np.random.default_rng(0).integers(0, SIZE, (200, 5)))


def model_of(hidden_size: int = 13, **settings: object) -> RecurrentModel:
    torch.manual_seed(0)
    config = RecurrentConfig(
        num_layers=2, hidden_size=hidden_size, embedding_size=hidden_size, **settings
    )
    words = [str(number) for number in range(SIZE)]
    model = RecurrentModel.build(config, np.arange(SIZE), words, 0)
    return model.eval()  # type: ignore[return-value]


@torch.no_grad()
def states_of(model: RecurrentModel, ids: torch.Tensor) -> State:
    """The state after single steps."""
    state = model.start(len(ids))
    for t in range(ids.shape[1]):
        state = model.read(ids[:, t : t + 1], state)
    return state


@pytest.mark.parametrize("cell", ["lstm", "gru", "elman", "peephole", "lstm-f"])
@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize("context", ["stream", "line"])
def test_prepared_steps_give_the_same_numbers(cell: str, rows: int, context: str) -> None:
    model = model_of(cell=cell, context=context)
    ids = IDS[:rows].clone()
    ids[-1, 3] = model.eos_id
    before = states_of(model, ids)
    with torch.no_grad():
        expected = model.predict(before)
        model.prepare_steps(rows)
        after = states_of(model, ids)
        assert isinstance(model._steps, SingleSteps)
        found = model.scores(after).log_softmax(1)
    assert torch.allclose(found, expected, atol=1e-5)
    for one, other in zip(tensors(before), tensors(after), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"layer_norm": True},
        {"connection": "residual"},
        {"zoneout": 0.1},
        {"output": "mixture"},
        {"topics": 2},
    ],
)
def test_other_networks_take_the_general_way(settings: dict[str, object]) -> None:
    model = model_of(**settings)
    before = states_of(model, IDS[:3])
    model.prepare_steps(3)
    after = states_of(model, IDS[:3])
    assert model._steps is None
    for one, other in zip(tensors(before), tensors(after), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("hidden_size", [7, 13, 64, 100])
def test_alike_means_the_same_bits_in_every_batch(hidden_size: int) -> None:
    model = model_of(hidden_size)
    if not model.step_alike():
        pytest.skip("oneDNN is missing")
    with torch.inference_mode():
        all_rows = states_of(model, IDS)
        scores = model.scores(all_rows)
        for rows in (*range(1, 66), 100, 128, 199):
            some = states_of(model, IDS[:rows])
            assert torch.equal(model.scores(some), scores[:rows])
            last = select(all_rows, torch.arange(200 - rows, 200))
            assert torch.equal(model.scores(last), scores[200 - rows :])


def test_a_kernel_that_depends_on_the_number_of_rows_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = stepping._linear_packed

    def uneven(weight: torch.Tensor, bias: torch.Tensor | None) -> stepping.Linear:
        product = packed(weight, bias)
        return lambda values: product(values) * (1 + 1e-6 * (len(values) == 5))

    if not model_of().step_alike():
        pytest.skip("oneDNN is missing")
    monkeypatch.setattr(stepping, "_linear_packed", uneven)
    assert not model_of().step_alike()


def test_only_plain_lstms_step_alike() -> None:
    assert not model_of(cell="gru").step_alike()
    assert not model_of(layer_norm=True).step_alike()
    assert not model_of().double().step_alike()


@pytest.mark.parametrize("rows", [1, 4])
def test_changed_weights_are_seen(rows: int) -> None:
    model = model_of()
    model.prepare_steps(rows)
    before = tensors(states_of(model, IDS[:rows]))
    for name, weight in model.named_parameters():
        if name == "output.bias":
            continue  # not part of the state
        with torch.no_grad():
            weight.add_(0.5)
        after = tensors(states_of(model, IDS[:rows]))
        assert not all(map(torch.equal, before, after)), name
        with torch.no_grad():
            weight.sub_(0.5)


def test_training_and_gradients_take_the_general_way() -> None:
    model = model_of()
    model.prepare_steps(1)
    assert model.read(IDS[:1, :1], model.start(1))[0][0].requires_grad
    with torch.no_grad():
        assert model._valid_steps() is not None
        assert model.train()._valid_steps() is None


def test_copies_and_pickles_are_not_prepared() -> None:
    model = model_of()
    model.prepare_steps(1)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with torch.no_grad():
            for weight in other.parameters():
                weight.mul_(2)
            assert not torch.equal(states_of(other, IDS[:1])[0][0], states_of(model, IDS[:1])[0][0])
        assert other._steps is None
