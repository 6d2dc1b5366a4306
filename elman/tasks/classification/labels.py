"""Labels in memory and in a run: whole numbers and booleans keep their type.

    y = [0, 1, 1]   →   "0", "1", "1"   in training, run folders and commands
                    →   array([0, 1])   for `classes_` and `predict` of the estimator

Takes y as users give it, returns `Labels`; called by the estimator. Their type is stored with the
run (`facts.json`), so a loaded estimator returns the same labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from elman.errors import ArgumentError
from elman.tasks.arguments import is_missing

_READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == "True",
}
_ARRAYS = (
    *("object", "str", "bool", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


@dataclass(frozen=True)
class LabelType:
    """The type of the labels that the user gave, and of the arrays that return them."""

    kind: str = "str"
    array: str = "str"

    def to_data(self) -> dict[str, str]:
        return {"kind": self.kind, "array": self.array}

    @classmethod
    def from_data(cls, data: Any) -> LabelType:
        """The type stored with a run; texts if there is none, as in runs of the command line."""
        if not isinstance(data, dict):
            return cls()
        kind, array = data.get("kind"), data.get("array")
        return cls(kind, array) if kind in _READ and array in _ARRAYS else cls()

    def restore(self, texts: Sequence[str]) -> np.ndarray:
        """The labels that were written as these texts."""
        return np.array([_READ[self.kind](text) for text in texts], dtype=self.array)


@dataclass(frozen=True)
class Labels:
    """Labels as texts, and their type."""

    texts: list[str]
    type: LabelType

    @classmethod
    def read(cls, y: Any) -> Labels:
        """Labels from a list or an array with one dimension."""
        if getattr(y, "ndim", 1) != 1:
            raise ArgumentError(
                f"y has {y.ndim} dimensions; give a list of one label for each text"
            )
        kinds = {_kind(label, f"y[{number}]") for number, label in enumerate(y)}
        if kinds == {"int", "float"}:
            kinds = {"float"}
        if len(kinds) > 1:
            raise ArgumentError(f"y mixes labels of the types {', '.join(sorted(kinds))}; give one")
        kind = kinds.pop() if kinds else "str"
        array = np.asarray(y) if hasattr(y, "dtype") else np.array([*y])
        name = "str" if array.dtype.kind in "UT" else array.dtype.name
        return cls([_text(label, kind) for label in y], LabelType(kind, name))


def _kind(label: Any, where: str) -> str:
    """The kind of a label; refuses missing values and measurements."""
    if isinstance(label, str):
        if not label.strip():
            raise ArgumentError(f"{where} is an empty label; give every text one")
        return "str"
    if is_missing(label):
        raise ArgumentError(f"{where} is missing: y contains NaN or None; give every text a label")
    if isinstance(label, bool | np.bool_):
        return "bool"
    if isinstance(label, Integral):
        return "int"
    if isinstance(label, Real):
        if math.isinf(label):
            raise ArgumentError(f"{where} is infinite: y contains infinity; give labels")
        if label != math.floor(label):
            raise ArgumentError(
                f"Unknown label type: {where}={label} is not a whole number; give texts, whole "
                "numbers or booleans"
            )
        return "float"
    raise ArgumentError(
        f"Unknown label type: {where} is of type {type(label).__name__}; give texts, whole numbers "
        "or booleans"
    )


def _text(label: Any, kind: str) -> str:
    return repr(float(label)) if kind == "float" else str(label)
