"""Which values a setting may have: refused by name, in one line.

Called by dataclasses of settings when they are made, after their types are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import le
from typing import Any

from elman.errors import InputError


def require(
    settings: Any,
    section: str,
    names: Iterable[str],
    allowed: Callable[[Any], bool],
    problem: str,
) -> None:
    """An InputError that names the first of these settings whose value is not allowed."""
    for name in names:
        value = getattr(settings, name)
        if not allowed(value):  # as no comparison with NaN is
            raise InputError(f"{section}.{name}={value}: {problem}")


def require_part(settings: Any, section: str, *names: str) -> None:
    """An InputError unless these settings are parts of a whole, from 0 to 1."""
    require(settings, section, names, lambda value: 0 <= value <= 1, "must be from 0 to 1")


def require_least(settings: Any, section: str, **least: float) -> None:
    """An InputError unless each of these settings is at least so much."""
    for name, bound in least.items():
        require(settings, section, [name], partial(le, bound), f"must be at least {bound:g}")
