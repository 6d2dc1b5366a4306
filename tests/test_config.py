"""Settings from TOML and from the command line: conversion and refusals."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from elman.config import apply_overrides, as_data, build, check_types, convert, read_toml
from elman.errors import InputError


@dataclass(kw_only=True)
class Example:
    size: int = 1
    rate: float = 0.5
    name: str = "a"
    flag: bool = False
    limit: int | None = None
    scale: float | None = None
    sizes: tuple[int, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def built(*overrides: str) -> Example:
    return build(Example, apply_overrides({}, overrides), "example")


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("size=3", 3),
        ("size = 3 ", 3),
        ("size=3.0", 3),
        ("size=1_000", 1000),
        ("size=-2", -2),
        ("rate=2", 2.0),
        ("rate=1e-3", 0.001),
        ("name=b", "b"),
        ("name='3'", "3"),
        ("name=a=b", "a=b"),
        ("name=modified-kneser-ney", "modified-kneser-ney"),
        ("name=", ""),
        ("flag=true", True),
        ("limit=7", 7),
        ("limit=none", None),
        ("limit=None", None),
        ("scale=2", 2.0),
        ("sizes=[1, 2]", (1, 2)),
        ("sizes=[]", ()),
        ("sizes=[1.0]", (1,)),
        ("options={a = 1}", {"a": 1}),
    ],
)
def test_values_become_what_the_field_is(override: str, value: Any) -> None:
    field = override.split("=")[0].strip()
    found = getattr(built(override), field)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("size=x", "example.size='x': expected a whole number$"),
        ("size=1.5", "example.size=1.5: expected a whole number$"),
        ("size=inf", "example.size=inf: expected a whole number$"),
        ("size=true", "example.size=True: expected a whole number$"),
        ("size=none", "example.size='none': expected a whole number$"),
        ("size=[1]", r"example.size=\[1\]: expected a whole number$"),
        ("rate=fast", "example.rate='fast': expected a number$"),
        ("rate=true", "example.rate=True: expected a number$"),
        ("flag=1", "example.flag=1: expected true or false$"),
        ("flag=yes", "example.flag='yes': expected true or false$"),
        ("limit=x", "example.limit='x': expected a whole number or none$"),
        ("sizes=1", r"example.sizes=1: expected a list like \[1, 2\]$"),
        ("sizes=[1, 'x']", "example.sizes='x': expected a whole number$"),
        ("options=1", "example.options=1: expected a section like {name = value}$"),
        ("options=[1]", r"example.options=\[1\]: expected a section like {name = value}$"),
        ("options=none", "example.options='none': expected a section like {name = value}$"),
        ("sise=1", "unknown setting example.sise; did you mean 'size'"),
        ("zzz=1", "unknown setting example.zzz; known: flag, limit, name, options, rate"),
    ],
)
def test_other_values_are_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        built(override)


def test_a_value_is_no_section() -> None:
    with pytest.raises(InputError, match=r"example=3: is a section.*example\."):
        build(Example, 3, "example")


def test_overrides_reach_into_sections_and_leave_the_tree_alone() -> None:
    tree = {"model": {"order": 5}, "seed": 1}
    changed = apply_overrides(tree, ["model.order=3", "text.tokenizer=bpe", "model.order=2"])
    assert changed == {"model": {"order": 2}, "seed": 1, "text": {"tokenizer": "bpe"}}
    assert tree == {"model": {"order": 5}, "seed": 1}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.order", "'model.order': write it as section.field=value"),
        ("", "'': write it as section.field=value"),
        ("model.order.deep=3", "'model.order.deep=3': 'order' is a value, not a section"),
    ],
)
def test_malformed_overrides_are_refused(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_overrides({"model": {"order": 5}}, [override])


@pytest.mark.parametrize("data", [b"[model", b"a = ", b"a = 1\na = 2", b"a = '\xff'", b"no toml"])
def test_what_is_not_toml_is_refused_with_the_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"recipe\.toml: not a TOML file \("):
        read_toml(path)


def test_a_toml_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.toml: cannot be read"):
        read_toml(tmp_path / "missing.toml")


def test_plain_data_builds_the_same_settings() -> None:
    settings = built("sizes=[1, 2]", "limit=3")
    assert build(Example, as_data(settings), "example") == settings


def test_overrides_reach_into_a_field_that_is_a_section() -> None:
    assert built("options.a=1", "options.b=x").options == {"a": 1, "b": "x"}


def test_settings_made_in_python_are_converted_alike() -> None:
    settings = Example(size=3.0, rate=2, sizes=[1, 2])  # type: ignore[arg-type]
    check_types(settings)
    assert settings == Example(size=3, rate=2.0, sizes=(1, 2))
    assert [type(settings.size), type(settings.rate)] == [int, float]
    with pytest.raises(InputError, match="^rate='fast': expected a number$"):
        check_types(Example(rate="fast"))  # type: ignore[arg-type]


def test_a_name_may_be_a_number() -> None:
    assert build(Example, {"name": 2024}, "example").name == "2024"


def test_none_is_a_word_where_a_word_is_expected() -> None:
    assert convert("none", str, "connection") == "none"
    assert convert("none", int | None, "size") is None
    assert convert("none", str | None, "name") is None
    with pytest.raises(InputError, match="expected a whole number"):
        convert("none", int, "size")
    with pytest.raises(InputError, match="expected a word"):
        convert(None, str, "connection")
