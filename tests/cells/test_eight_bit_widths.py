"""Products with eight-bit weights are correct for every width."""

import tomllib
from importlib.resources import files
from itertools import product
from typing import Any

import pytest
import torch

from elman.cells.eight_bits import quantise_rows
from elman.cells.stepping import linear

ROWS = (1, 4, 17)
OUTPUTS = 7  # the kernel computes four at a time, so a block of three is left over


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

    The inputs are exact in bfloat16 and so are the weights, so what is left is the float32 sum,
    K roundings of at most 2^-24 of Σ|x w|, and one rounding of the result to bfloat16, which has
    eight significant bits: at most 2^-8 of it.
    """
    torch.manual_seed(width)
    weight, bias = torch.randn(OUTPUTS, width), torch.randn(OUTPUTS)
    values = torch.randn(rows, width).to(torch.bfloat16).float()
    numbers, scales = quantise_rows(weight)
    meant = numbers.double() * scales.double()[:, None]
    exact = values.double() @ meant.T
    magnitude = values.double().abs() @ meant.abs().T
    found = linear(weight, bias, "int8")(values)
    error = (found.double() - bias - exact).abs()
    assert (error <= 2**-8 * exact.abs() + (width + 2) * 2**-24 * magnitude + 1e-6).all()


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
    """Equal up to sums between two bfloat16 numbers that are rounded differently."""
    torch.manual_seed(0)
    product_of, values = linear(torch.randn(40, width), None, "int8"), torch.randn(60, width)
    together = product_of(values)
    few = torch.cat([product_of(rows) for rows in values.split(4)])
    assert torch.allclose(together, few, rtol=2**-7, atol=1e-6)
    assert (together == few).float().mean() > 0.99
    assert product_of(values.double()).dtype == torch.float64
