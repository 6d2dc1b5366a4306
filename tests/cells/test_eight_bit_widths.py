"""Products with eight-bit weights are correct for every width."""

import tomllib
from importlib.resources import files
from itertools import product
from typing import Any

import pytest
import torch

from elman.cells.eight_bits import quantise_rows
from elman.cells.stepping import linear

ROWS = (1, 4, 25)
OUTPUTS = 7  # the kernel computes four at a time, so a block of three is left over


@pytest.fixture(autouse=True)
def small_matrices_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elman.cells.eight_bits._FEWEST_WEIGHTS", 0)


def sizes(settings: Any, name: str = "") -> set[int]:
    """Every size that a recipe names: of layers, word vectors and projections."""
    if isinstance(settings, dict):
        return set().union(*(sizes(value, key) for key, value in settings.items()))
    if isinstance(settings, list):
        return set().union(*(sizes(value, name) for value in settings))
    named = name.endswith("_size") or name == "projection"
    return {settings} if named and isinstance(settings, int) else set()


def recipe_widths() -> list[int]:
    """The widths of all products of the recipes: of a layer's inputs, its state, and both."""
    widths: set[int] = set()
    for recipe in files("elman.recipes").iterdir():
        if recipe.name.endswith(".toml"):
            own = sizes(tomllib.loads(recipe.read_text()).get("model", {}))
            widths |= own | {one + other for one, other in product(own, own)}
    return sorted(width for width in widths if width < 10_000)


def check_product(width: int, rows: int) -> None:
    """Against the same product in double precision, with the weights that the eight bits mean.

    A value is rounded to 1 / (63 · 126) of the largest of its row, so it is wrong by half of that
    at most. What is left are roundings of float32: K for the sum of many rows, a few otherwise.
    """
    torch.manual_seed(width)
    weight, bias = torch.randn(OUTPUTS, width), torch.randn(OUTPUTS)
    values = torch.randn(rows, width)
    numbers, scales = quantise_rows(weight)
    meant = numbers.double() * scales.double()[:, None]
    exact = values.double() @ meant.T
    magnitude = values.double().abs() @ meant.abs().T
    rounded = values.double().abs().amax(1, keepdim=True) / (2 * 63 * 126) * meant.abs().sum(1)
    found = linear(weight, bias, "int8")(values)
    error = (found.double() - bias - exact).abs()
    assert (error <= rounded + (width + 8) * 2**-24 * magnitude + 1e-6).all()


@pytest.mark.parametrize("rows", ROWS)
def test_every_narrow_width(rows: int) -> None:
    for width in range(1, 71):
        check_product(width, rows)


@pytest.mark.parametrize("rows", ROWS)
def test_every_width_of_the_recipes(rows: int) -> None:
    widths = recipe_widths()
    assert {650, 1300, 1150, 1500} <= set(widths)
    for width in widths:
        check_product(width, rows)


def test_inputs_need_not_lie_in_one_piece() -> None:
    torch.manual_seed(0)
    product_of = linear(torch.randn(5, 32), None, "int8")
    columns = torch.randn(32, 3)
    assert torch.equal(product_of(columns.t()), product_of(columns.t().contiguous()))


@pytest.mark.parametrize("width", [13, 50, 64])
def test_few_rows_do_not_depend_on_each_other(width: int) -> None:
    torch.manual_seed(0)
    product_of, values = linear(torch.randn(40, width), None, "int8"), torch.randn(9, width)
    alone = torch.cat([product_of(values[row : row + 1]) for row in range(9)])
    assert torch.equal(product_of(values), alone)


@pytest.mark.parametrize("width", [13, 50, 64])
def test_many_rows_give_what_few_give(width: int) -> None:
    """Equal up to the rounding of values to fourteen bits."""
    torch.manual_seed(0)
    product_of, values = linear(torch.randn(40, width), None, "int8"), torch.randn(60, width)
    together = product_of(values)
    few = torch.cat([product_of(rows) for rows in values.split(4)])
    assert (together - few).norm() / together.norm() < 1e-3
    assert product_of(values.double()).dtype == torch.float64


@pytest.mark.parametrize("rows", [1, 3])
def test_values_of_zero_and_of_any_size(rows: int) -> None:
    torch.manual_seed(0)
    weight = torch.randn(6, 21)
    product_of = linear(weight, None, "int8")
    assert torch.equal(product_of(torch.zeros(rows, 21)), torch.zeros(rows, 6))
    values = torch.randn(rows, 21)
    for size in (1e-12, 1e12):
        assert torch.allclose(product_of(size * values), size * product_of(values), rtol=1e-4)


def test_the_kernel_without_fbgemm_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are then rounded to bfloat16, which has eight significant bits."""
    torch.manual_seed(0)
    weight, values = torch.randn(40, 50), torch.randn(3, 50)
    exact = linear(weight, None, "int8")(values)
    monkeypatch.setattr("elman.cells.eight_bits.has_integers", lambda: False)
    near = linear(weight, None, "int8")(values)
    assert 0 < (near - exact).norm() / exact.norm() < 2**-7


@pytest.mark.parametrize("rows", ROWS)
def test_small_matrices_are_unpacked(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elman.cells.eight_bits._FEWEST_WEIGHTS", 1000)
    torch.manual_seed(0)
    weight, bias, values = torch.randn(9, 21), torch.randn(9), torch.randn(rows, 21)
    numbers, scales = quantise_rows(weight)
    expected = values @ (numbers * scales[:, None]).t() + bias
    assert torch.allclose(linear(weight, bias, "int8")(values), expected, atol=1e-5)
