"""The options of what is chosen by name, like `forget_bias` of a cell or `delta` of a smoother.

They are the arguments of its class that have a default, so a class declares them by having them.
Takes plain data, gives it in the types of the annotations. Called by settings that name something.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from elman.config import convert
from elman.errors import InputError, nearest
from elman.registry import Registry


def check_options(
    family: Registry, name: str, options: dict[str, Any], where: str = "options"
) -> dict[str, Any]:
    """The options in the types that a member of a family wants; `where` names them in messages.

    An InputError if it does not have them.
    """
    return convert_options(family.choose(name), options, f"the {family.what} {name!r}", where)


def convert_options(kind: type, options: dict[str, Any], whose: str, where: str) -> dict[str, Any]:
    """The options in the types that a class wants; `whose` and `where` are for messages."""
    known = known_options(kind)
    for option in options:
        if option not in known:
            hint = nearest(str(option), known) if known else "it has none"
            raise InputError(f"unknown option {option!r} of {whose}; {hint}")
    return {
        option: value
        if known[option] is None
        else convert(value, known[option], f"{where}.{option}")
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
        own = [each.name for each in parameters if each.default is not each.empty]
        known = {name: hints.get(name) for name in own} | known
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            break
    return known
