"""Shared by tests of cells: weights in double precision, and a plain loop to compare with."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
import torch

from elman.cells.cell import Cell, States, Weights
from elman.cells.engine import run

Built = tuple[Cell, dict[str, torch.Tensor]]
NaiveStep = Callable[[torch.Tensor, States], States]


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def build() -> Callable[[Cell], Built]:
    """A cell with weights large enough to bend its gates: uniform within ±1."""
    return lambda cell: (
        cell,
        {
            name: (2 * torch.rand(shape, dtype=torch.float64) - 1).requires_grad_()
            for name, shape in cell.shapes().items()
        },
    )


@pytest.fixture
def gates_of() -> Callable[..., list[SimpleNamespace]]:
    """The weights of a product, cut into those of its gates: W, U and b of each."""

    def cut(weights: Weights, product: str, hidden_size: int, count: int) -> list[SimpleNamespace]:
        parts = {"W": "input", "U": "state", "b": "bias"}
        return [
            SimpleNamespace(
                **{
                    letter: weights[f"{product}_{part}"][row : row + hidden_size]
                    for letter, part in parts.items()
                    if f"{product}_{part}" in weights
                }
            )
            for row in range(0, count * hidden_size, hidden_size)
        ]

    return cut


@pytest.fixture
def assert_equals_naive() -> Callable[[Cell, Weights, NaiveStep], None]:
    """Outputs and final states of the engine against a loop over `step(x_t, state)`."""

    def check(cell: Cell, weights: Weights, step: NaiveStep) -> None:
        inputs = torch.randn(4, 6, cell.input_size, dtype=torch.float64)
        start = tuple(torch.randn(4, size, dtype=torch.float64) for size in cell.state_sizes)
        outputs, state = [], start
        for x in inputs.unbind(1):
            state = step(x, state)
            outputs.append(state[0])
        for fuse in (True, False):
            found = run(cell, weights, inputs, start, fuse=fuse)
            expected = (torch.stack(outputs, dim=1), *state)
            torch.testing.assert_close(
                (found.outputs, *found.state), expected, rtol=1e-12, atol=1e-12
            )

    return check


@pytest.fixture
def assert_equals_torchrecurrent() -> Callable[..., None]:
    """One step of a cell against one of another library, with weights cut as that has them."""

    def check(cell: Cell, weights: Weights, kind: str, **parts: list[torch.Tensor]) -> None:
        library = pytest.importorskip("torchrecurrent")
        module = getattr(library, kind)(cell.input_size, cell.hidden_size, dtype=torch.float64)
        assert parts.keys() == dict(module.named_parameters()).keys()
        with torch.no_grad():
            for name, pieces in parts.items():
                getattr(module, name).copy_(torch.cat(pieces))
        inputs = torch.randn(4, 1, cell.input_size, dtype=torch.float64)
        start = tuple(torch.randn(4, size, dtype=torch.float64) for size in cell.state_sizes)
        theirs = module(inputs[:, 0], start[0] if len(start) == 1 else start)
        theirs = (theirs,) if len(start) == 1 else theirs
        torch.testing.assert_close(
            run(cell, weights, inputs, start).state, tuple(theirs), rtol=1e-12, atol=1e-12
        )

    return check
