"""The options of a cell, an input or an output, like `forget_bias = 1.0`: which, and of which type.

They are the arguments of its class that have a default, so a class declares them by having them.
What has none is given by whoever makes one: sizes, counts of words.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from elman.config import convert
from elman.errors import InputError, nearest
from elman.registry import Registry


def check_options(family: Registry, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options in the types that a member of a family wants.

    An InputError if it does not have them.
    """
    known = known_options(family.choose(name))
    for option in options:
        if option not in known:
            hint = nearest(str(option), known) if known else "it has none"
            raise InputError(f"unknown option {option!r} of the {family.what} {name!r}; {hint}")
    return {
        option: value
        if known[option] is None
        else convert(value, known[option], f"options.{option}")
        for option, value in options.items()
    }


def known_options(kind: type) -> dict[str, Any]:
    """Name to type, None where none is declared.

    A class that takes `**options` hands them on, so it has those of its parent too.
    """
    known: dict[str, Any] = {}
    for ancestor in kind.__mro__:
        init: Callable[..., None] | None = vars(ancestor).get("__init__")
        if init is None:
            continue
        parameters = inspect.signature(init).parameters.values()
        hints = typing.get_type_hints(init)
        own = {
            each.name: hints.get(each.name) for each in parameters if each.default is not each.empty
        }
        known = own | known
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            break
    return known
