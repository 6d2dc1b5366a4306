"""Settings: dataclasses filled from TOML files and `section.field=value` words.

Takes plain data, gives dataclasses. For an unknown name, the error suggests the nearest known one;
for a value of the wrong type, it names the expected type. Nothing in a file is ever executed.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from elman.errors import InputError, nearest

Settings = typing.TypeVar("Settings")
_LONGEST_SHOWN = 200  # characters of a value in a message
_EXPECTED = {
    int: "a whole number",
    float: "a number",
    str: "a word",
    bool: "true or false",
    tuple: "a list like [1, 2]",
    dict: "a section like {name = value}",
    types.NoneType: "none",
}


def read_toml(path: Path) -> dict[str, Any]:
    """The tree in a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file ({error})") from None


def apply_overrides(tree: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Return a new tree with each `section.field=value` applied."""
    tree = {key: dict(value) if isinstance(value, dict) else value for key, value in tree.items()}
    for override in overrides:
        dotted, separator, value = override.partition("=")
        if not separator:
            raise InputError(f"setting {override!r}: write it as section.field=value")
        *sections, field = dotted.strip().split(".")
        place = tree
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise InputError(f"setting {override!r}: {section!r} is a value, not a section")
        place[field] = _parse_value(value.strip())
    return tree


def _parse_value(text: str) -> Any:
    """Parse a value as TOML; anything that is not TOML is a plain string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return "none" if text == "None" else text


def build(cls: type[Settings], data: Any, where: str) -> Settings:
    """Build a dataclass from plain data; `where` names the section in messages."""
    if not isinstance(data, dict):
        raise InputError(f"{where}={data!r}: is a section; set one of its fields: {where}.…=…")
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    values = {}
    for name, value in data.items():
        if name not in fields:
            moved = getattr(cls, "moved", {}).get(name)
            hint = f"it is now {where}.{moved}" if moved else nearest(name, fields)
            raise InputError(f"unknown setting {where}.{name}; {hint}")
        values[name] = convert(value, hints[name], f"{where}.{name}")
    return cls(**values)


def convert(value: Any, hint: Any, name: str) -> Any:
    """Convert the value to the annotated type if the conversion loses nothing."""
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value == "none" and types.NoneType in choices:
        return None  # TOML has no null
    for choice in choices:
        origin = typing.get_origin(choice) or choice
        if origin is tuple and isinstance(value, list | tuple):
            return tuple(convert(item, typing.get_args(choice)[0], name) for item in value)
        if origin is tuple and typing.get_args(choice)[0] is str and type(value) in (str, int):
            return (str(value),)  # a list of one name
        if origin is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if origin is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, bool) and origin is not bool:
            continue
        if origin is str and isinstance(value, int):  # a name that happens to be a number
            return str(value)
        if isinstance(value, origin):
            return value
    expected = " or ".join(_EXPECTED[typing.get_origin(c) or c] for c in choices)
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
    raise InputError(f"{name}={shown}: expected {expected}")


def check_types(settings: Any) -> None:
    """Convert the fields of a dataclass made in Python, as `build` does with plain data."""
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        value = convert(getattr(settings, field.name), hints[field.name], field.name)
        setattr(settings, field.name, value)


def as_data(settings: Any) -> dict[str, Any]:
    """The dataclass as plain data."""
    return dataclasses.asdict(settings)


def at_least(value: float, least: float, name: str) -> None:
    """Refuse an option that is too small."""
    if not value >= least:  # written so that NaN is refused too
        raise InputError(f"{name}={value}: must be at least {least}")
