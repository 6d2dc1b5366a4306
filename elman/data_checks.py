"""Type checks for plain data read from a file, since a run folder may come from anybody.

Each function returns its value, or raises a ValueError that names it. Called by the code that
loads the parts of a run.
"""

from __future__ import annotations

from typing import Any

_LARGEST = 2**63  # the range of int64 in numpy and torch
_LARGEST_STATE = 2**128  # the range of the states of numpy's random generators


def text(value: Any, name: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is {_short(value)}, not a text")
    return value


def texts(value: Any, name: str) -> list[str]:
    """A list of strings."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name} is not a list of texts")
    return value


def flag(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {_short(value)}, not true or false")
    return value


def whole(value: Any, name: str, at_least: int = 0) -> int:
    """A whole number within the range of int64."""
    if type(value) is not int or not at_least <= value < _LARGEST:
        raise ValueError(f"{name} is {_short(value)}, not a whole number from {at_least} up")
    return value


def wholes(value: Any, name: str) -> list[int]:
    """A list of whole numbers."""
    if not isinstance(value, list):
        raise ValueError(f"{name} is {_short(value)}, not a list")
    return [whole(item, name) for item in value]


def number(value: Any, name: str) -> float:
    """A number; infinity and NaN are allowed."""
    if type(value) is int and abs(value) < _LARGEST:
        return value
    if type(value) is not float:
        raise ValueError(f"{name} is {_short(value)}, not a number")
    return value


def section(value: Any, name: str) -> dict[str, Any]:
    """A dict with string keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is {_short(value)}, not values by name")
    return value


def like(value: Any, pattern: Any, name: str) -> None:
    """Refuse data whose names or types differ from those of a pattern."""
    if isinstance(pattern, dict):
        found = section(value, name)
        if found.keys() != pattern.keys():
            different = ", ".join(sorted(found.keys() ^ pattern.keys()))
            raise ValueError(f"{name} has other values than this training: {_short(different)}")
        for key in pattern:
            like(found[key], pattern[key], f"{name}.{key}")
    elif isinstance(pattern, list):
        if not isinstance(value, list) or any(isinstance(item, dict | list) for item in value):
            raise ValueError(f"{name} is {_short(value)}, not a list of numbers")
    elif isinstance(pattern, bool):
        flag(value, name)
    elif isinstance(pattern, str):
        text(value, name)
    elif isinstance(pattern, int):
        if type(value) is not int or abs(value) >= _LARGEST_STATE:
            raise ValueError(f"{name} is {_short(value)}, not a whole number")
    elif isinstance(pattern, float) or value is not None:  # a pattern of None also allows a number
        number(value, name)


def _short(value: Any) -> str:
    shown = repr(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return shown if len(shown) < 60 else f"{shown[:50]}…"
