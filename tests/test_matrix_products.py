"""Products by oneDNN equal those of PyTorch, whatever the layout of the matrices."""

import time
from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from elman import matrix_products
from elman.cells import CELLS
from elman.cells.engine import run
from elman.matrix_products import (
    LinearLayer,
    accumulate_product,
    add_product,
    add_product_into,
    linear,
    multiply,
    multiply_into,
)

# Rows, inputs, columns of a product; odd ones too.
SHAPES = [(1, 7, 9), (3, 1, 5), (35, 33, 77), (64, 200, 130), (128, 128, 128), (5, 650, 651)]
LAYOUTS: dict[str, Callable[[int, int], torch.Tensor]] = {
    "plain": lambda rows, columns: torch.randn(rows, columns),
    "transposed": lambda rows, columns: torch.randn(columns, rows).t(),
    "columns of a wider one": lambda rows, columns: torch.randn(rows, columns + 3)[:, :columns],
    "every second row": lambda rows, columns: torch.randn(2 * rows, columns)[::2],
    "one row, repeated": lambda rows, columns: torch.randn(1, columns).expand(rows, columns),
}
PAIRS = [*product(LAYOUTS, LAYOUTS)]


@pytest.fixture
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use oneDNN for all products, whatever the processor."""
    if not matrix_products.has_onednn():
        pytest.skip("oneDNN is not in this build of PyTorch")
    monkeypatch.setattr(matrix_products, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(matrix_products, "_FEWEST_MULTIPLICATIONS", 1)


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), wanted.double(), rtol=1e-5, atol=2e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_values(by_onednn: None, shape: tuple[int, int, int], first: str, second: str) -> None:
    rows, inputs, columns = shape
    left, right = LAYOUTS[first](rows, inputs), LAYOUTS[second](inputs, columns)
    added, matrix = torch.randn(columns), torch.randn(rows, columns)
    wanted = left.double() @ right.double()
    close(multiply(left, right), wanted)
    close(add_product(added, left, right), wanted + added)
    close(add_product(matrix, left, right), wanted + matrix)
    close(linear(left, right.t()), wanted)
    close(linear(left, right.t(), added), wanted + added)
    out = torch.full((rows, columns), torch.nan)
    multiply_into(out, left, right)
    close(out, wanted)
    add_product_into(out, added, left, right)
    close(out, wanted + added)
    accumulate_product(out, left, right)
    close(out, 2 * wanted + added)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_gradients(by_onednn: None, first: str, second: str) -> None:
    left, right = LAYOUTS[first](21, 34), LAYOUTS[second](34, 55)
    added = torch.randn(55)

    def gradients(call: Callable[..., torch.Tensor], kind: torch.dtype) -> list[torch.Tensor]:
        leaves = [part.detach().to(kind).requires_grad_() for part in (added, left, right)]
        loss = call(*leaves).square().sum()
        first_ones = torch.autograd.grad(loss, leaves, create_graph=True)
        total = sum((part.square().sum() for part in first_ones), loss.new_zeros(()))
        return [*first_ones, *torch.autograd.grad(total, leaves)]  # second derivatives too

    for found, wanted in zip(
        gradients(add_product, torch.float32), gradients(torch.addmm, torch.float64), strict=True
    ):
        scale = wanted.abs().max()
        close(found / scale, wanted / scale)


def test_more_dimensions(by_onednn: None) -> None:
    layer = LinearLayer(12, 7)
    values = torch.randn(4, 5, 12).transpose(0, 1).requires_grad_()
    found = layer(values)
    close(found, functional.linear(values, layer.weight, layer.bias))
    found.sum().backward()
    close(layer.weight.grad, values.sum((0, 1)).expand(7, 12))  # type: ignore[arg-type]
    assert found.shape == (5, 4, 7)
    assert linear(torch.randn(12), layer.weight).shape == (7,)


def test_nothing_to_multiply(by_onednn: None) -> None:
    assert multiply(torch.zeros(0, 3), torch.zeros(3, 4)).shape == (0, 4)
    assert multiply(torch.zeros(2, 0), torch.zeros(0, 4)).eq(0).all()
    assert linear(torch.zeros(2, 0, 3), torch.zeros(4, 3)).shape == (2, 0, 4)


def test_other_numbers_are_left_to_pytorch(by_onednn: None) -> None:
    for kind in (torch.float64, torch.bfloat16):
        left, right = torch.randn(30, 40).to(kind), torch.randn(40, 50).to(kind)
        assert torch.equal(multiply(left, right), left @ right)
    with pytest.raises(RuntimeError):
        multiply(torch.randn(3, 4), torch.randn(5, 6))


def test_elsewhere_and_small_products_have_the_bits_of_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left, right, added = torch.randn(200, 300), torch.randn(300, 400), torch.randn(400)
    monkeypatch.setattr(matrix_products, "onednn_is_faster", lambda: False)
    assert torch.equal(multiply(left, right), left @ right)
    assert torch.equal(add_product(added, left, right), torch.addmm(added, left, right))
    monkeypatch.setattr(matrix_products, "onednn_is_faster", lambda: True)
    assert torch.equal(multiply(left[:9], right), left[:9] @ right)


def test_what_is_recorded_for_other_runtimes_is_pytorch(by_onednn: None) -> None:
    """As for pages and graphs, whose runtimes know nothing of oneDNN."""
    recorded = make_fx(add_product)(torch.randn(5), torch.randn(3, 4), torch.randn(4, 5))
    called = {str(node.target) for node in recorded.graph.nodes if node.op == "call_function"}
    assert called == {"aten.addmm.default"}


def test_gaps_do_not_make_it_slow(by_onednn: None) -> None:
    """oneDNN itself would take a thousand times as long."""

    def seconds(right: torch.Tensor) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            multiply(left, right)
            times.append(time.perf_counter() - started)
        return min(times)

    left = torch.randn(300, 200)
    dense = seconds(torch.randn(200, 300))
    for layout in LAYOUTS.values():
        assert seconds(layout(200, 300)) < 50 * dense


DESCRIBED = {
    "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n": True,
    "AMD64 Family 26 Model 68 Stepping 0, AuthenticAMD": True,
    "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n": False,
    "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n": False,
    "Intel64 Family 6 Model 143 Stepping 8, GenuineIntel": False,
    "arm": False,
    "": False,
}


@pytest.mark.parametrize(("described", "wide"), [*DESCRIBED.items()])
def test_processors(described: str, wide: bool) -> None:
    assert matrix_products.has_wide_vectors(described) is wide


def test_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = matrix_products.onednn_is_faster.__wrapped__
    here = matrix_products.has_onednn()
    monkeypatch.setenv("ELMAN_ONEDNN", "0")
    assert not chosen()
    monkeypatch.setenv("ELMAN_ONEDNN", "1")
    assert chosen() is here
    monkeypatch.delenv("ELMAN_ONEDNN")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(matrix_products, "_processor", lambda: "Family 26, AuthenticAMD")
    assert chosen() is (here and torch.backends.mkl.is_available())  # type: ignore[no-untyped-call]
    monkeypatch.setattr(matrix_products, "_processor", lambda: "Family 25, AuthenticAMD")
    assert not chosen()


@pytest.mark.parametrize("name", CELLS)
def test_cells_have_the_same_outputs_and_gradients(
    by_onednn: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    cell = CELLS[name](24, 24)
    weights = {part: torch.empty(shape) for part, shape in cell.shapes().items()}
    cell.initialise(weights)
    inputs = torch.randn(3, 9, 24)

    def outcome() -> list[torch.Tensor]:
        leaves = {part: weight.clone().requires_grad_() for part, weight in weights.items()}
        outputs = run(cell, leaves, inputs).outputs
        used = [leaf for leaf in leaves.values() if leaf.numel()]
        return [outputs, *torch.autograd.grad(outputs.square().sum(), used, allow_unused=True)]

    by_onednn_outcome = outcome()
    monkeypatch.setattr(matrix_products, "onednn_is_faster", lambda: False)
    for found, wanted in zip(by_onednn_outcome, outcome(), strict=True):
        assert (found is None) == (wanted is None)
        if wanted is not None:
            close(found, wanted)
