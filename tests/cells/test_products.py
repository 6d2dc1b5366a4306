"""Packed products equal plain products, forward and backward, also in the engine."""

import pytest
import torch

from elman.cells import CELLS, products
from elman.cells.engine import run
from elman.cells.products import Packed, worth_packing

BIG = torch.zeros(1000, 700)


@pytest.fixture(autouse=True)
def on_other_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where oneDNN is not faster than MKL; there, smaller matrices are packed too."""
    monkeypatch.setattr(products, "onednn_is_faster", lambda: False)


@pytest.mark.parametrize(
    ("weight", "time", "rows", "worth"),
    [
        (BIG, 35, 20, True),
        (BIG, 2, 20, False),
        (BIG, 35, 1, False),
        (BIG[:500], 35, 20, False),
        (BIG.double(), 35, 20, False),
    ],
)
def test_what_is_worth_packing(weight: torch.Tensor, time: int, rows: int, worth: bool) -> None:
    assert worth_packing(weight, time, rows) is worth


def test_smaller_matrices_where_onednn_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "onednn_is_faster", products.has_onednn)
    assert worth_packing(BIG[:300], 35, 20) is products.has_onednn()
    assert not worth_packing(BIG[:200], 35, 20)


@pytest.mark.parametrize("fewest_back", [1, 10**9])
def test_a_packed_product_and_its_gradients(
    fewest_back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_FEWEST_WEIGHTS_BACK", fewest_back)
    torch.manual_seed(0)
    weight = torch.randn(30, 20)
    prepared, state = torch.randn(5, 30, requires_grad=True), torch.randn(5, 20, requires_grad=True)
    result = Packed(weight, 5).add(prepared, state)
    expected = torch.addmm(prepared, state, weight.t())
    assert torch.allclose(result, expected, atol=1e-5)
    gradient = torch.randn(5, 30)
    ours = torch.autograd.grad(result, (prepared, state), gradient)
    plain = torch.autograd.grad(expected, (prepared, state), gradient)
    for one, other in zip(ours, plain, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("name", ["elman", "gru", "torch-gru", "mut1", "nas", "lstm-f", "highway"])
@pytest.mark.parametrize("with_lengths", [False, True])
def test_the_engine_gives_the_same_packed(
    name: str, with_lengths: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    cell = CELLS[name](24, 24)
    weights = {key: torch.empty(shape) for key, shape in cell.shapes().items()}
    cell.initialise(weights)
    lengths = torch.tensor([9, 4, 1]) if with_lengths else None
    results = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(products, "_FEWEST_WEIGHTS", fewest)
        own = {key: weight.clone().requires_grad_() for key, weight in weights.items()}
        inputs = torch.linspace(-1, 1, 3 * 9 * 24).view(3, 9, 24).requires_grad_()
        outputs = run(cell, own, inputs, lengths=lengths).outputs
        outputs.square().sum().backward()
        results.append([outputs.detach(), inputs.grad, *(weight.grad for weight in own.values())])
    for packed, plain in zip(*results, strict=True):
        assert torch.allclose(packed, plain, atol=1e-4, rtol=1e-4)
    with torch.no_grad():
        monkeypatch.setattr(products, "_FEWEST_WEIGHTS", 1)
        again = run(cell, weights, inputs.detach(), lengths=lengths).outputs
        assert torch.allclose(again, results[0][0], atol=1e-5)
