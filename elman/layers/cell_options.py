"""The options of a cell, like `forget_bias = 1.0`: which there are, and of which type.

They are the keyword arguments of its class, so a cell declares them by having them.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from elman.cells import CELLS
from elman.cells.cell import Cell
from elman.config import convert
from elman.errors import InputError, choose, nearest

_SIZES = ("self", "input_size", "hidden_size")  # given by the stack


def check_options(cell: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options in the types that the cell wants; an InputError if it does not have them."""
    known = known_options(choose(CELLS, cell, "cell"))
    for name in options:
        if name not in known:
            hint = nearest(str(name), known) if known else "it has none"
            raise InputError(f"unknown option {name!r} of the cell {cell!r}; {hint}")
    return {
        name: value if known[name] is None else convert(value, known[name], f"options.{name}")
        for name, value in options.items()
    }


def known_options(kind: type[Cell]) -> dict[str, Any]:
    """Name to type, None where none is declared.

    A class that takes `**options` hands them on, so it has those of its parent too.
    """
    known: dict[str, Any] = {}
    for ancestor in kind.__mro__:
        init: Callable[..., None] | None = vars(ancestor).get("__init__")
        if init is None:
            continue
        parameters = inspect.signature(init).parameters.values()
        handed_on = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
        hints = typing.get_type_hints(init)
        own = {each.name: hints.get(each.name) for each in parameters}
        known = {name: own[name] for name in own if name not in (*_SIZES, *handed_on)} | known
        if not handed_on:
            break
    return known
