"""Test suites in the format of SyntaxGym: sentences in regions, with surprisal predictions.

    {"meta": {"name": "agreement", "metric": "sum"},
     "predictions": [{"type": "formula", "formula": "(2;%wrong%) > (2;%right%)"}],
     "items": [{"item_number": 1, "conditions": [
        {"condition_name": "right", "regions": [{"region_number": 1, "content": "cats"},
                                                {"region_number": 2, "content": "sleep"}]}, …]}]}

Takes a document, gives a `Suite`; called by `tasks/language_modelling/minimal_pairs.py`. Every
region that a prediction names must be in every item.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elman.errors import InputError, nearest
from elman.text.files import bare_name
from elman.text.reader import Document

# The tolerance of "=", as in SyntaxGym.
_RELATIVE, _ABSOLUTE = 1e-5, 1e-3
_DEEPEST = 50  # nested brackets

Place = tuple[str, int | None]  # condition and region; None: all of its regions
Look = Callable[[Place], float]

_TOKEN = re.compile(
    r"\s*(?:\(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[^%]+)%\s*\)"
    r"|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<sign>>=|<=|[-+><=&|()\[\]]))"
)
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": lambda left, right: math.isclose(left, right, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE),
}
_CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True)
class Value:
    """The value of a formula for one item: a truth value or a number, and whether sides tied."""

    value: float | bool
    tie: bool = False


Node = Callable[[Look], Value]


@dataclass(frozen=True)
class Formula:
    """A prediction about the surprisal of regions, true or false for each item.

        (4;%mismatch%) > (4;%match%)                     region 4 is the more surprising one
        [(5;%a%) - (5;%b%)] > [(5;%c%) - (5;%d%)] & (*;%a%) < 40

    It is parsed with this grammar, weakest operators first, and never passed to Python's `eval`:

        either      = both { "|" both }
        both        = comparison { "&" comparison }
        comparison  = sum [ (">" | "<" | ">=" | "<=" | "=") sum ]
        sum         = value { ("+" | "-") value }
        value       = number | region | "-" value | "(" either ")" | "[" either "]"
        region      = "(" (number | "*") ";%" condition "%)"        * is the whole sentence
    """

    text: str
    places: frozenset[Place]
    _node: Node = field(repr=False)

    def holds(self, look: Look) -> Value:
        """Whether it is true, with the surprisal of each place from `look`."""
        return self._node(look)


def read_formula(text: str) -> Formula:
    """Parse a formula; raises an InputError with the reason if it is wrong."""
    reader = _Reader(text)
    node, kind = reader.either()
    if reader.token is not None:
        raise reader.refused(f"unexpected {reader.token!r}")
    if kind != "truth":
        raise reader.refused("compares nothing; write for example (4;%a%) > (4;%b%)")
    return Formula(text, frozenset(reader.places), node)


class _Reader:
    """One method per rule; each returns a node and its kind, `number` or `truth`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places: set[Place] = set()
        self.depth = 0
        self._at = 0
        self._match: re.Match[str] | None = None
        self._next()

    @property
    def token(self) -> str | None:
        return None if self._match is None else self._match.group().strip()

    def refused(self, reason: str) -> InputError:
        return InputError(f"the formula {self.text!r}: {reason}")

    def _next(self) -> None:
        if not self.text[self._at :].strip():
            self._match = None
            return
        self._match = _TOKEN.match(self.text, self._at)
        if self._match is None:
            rest = self.text[self._at :].strip()
            raise self.refused(f"cannot parse {rest[:20]!r}; write a region as (4;%name%)")
        self._at = self._match.end()

    def _taken(self, signs: tuple[str, ...]) -> str | None:
        """Consume the next sign if it is one of these, and return it."""
        sign = None if self._match is None else self._match.group("sign")
        if sign not in signs:
            return None
        self._next()
        return sign

    def either(self) -> tuple[Node, str]:
        return self._joined("|", self.both, lambda left, right: left or right)

    def both(self) -> tuple[Node, str]:
        return self._joined("&", self.comparison, lambda left, right: left and right)

    def _joined(
        self, sign: str, rule: Callable[[], tuple[Node, str]], join: Callable[[bool, bool], bool]
    ) -> tuple[Node, str]:
        node, kind = rule()
        while self._taken((sign,)):
            other, other_kind = rule()
            if (kind, other_kind) != ("truth", "truth"):
                raise self.refused(f"{sign} combines comparisons, not numbers")
            node = _both_sides(node, other, lambda a, b: join(bool(a), bool(b)))
        return node, kind

    def comparison(self) -> tuple[Node, str]:
        left, kind = self.sum()
        sign = self._taken(tuple(_COMPARISONS))
        if sign is None:
            return left, kind
        right, other = self.sum()
        if (kind, other) != ("number", "number"):
            raise self.refused(f"{sign} takes numbers, not comparisons")
        compare = _COMPARISONS[sign]

        def node(look: Look) -> Value:
            a, b = left(look).value, right(look).value
            return Value(compare(a, b), tie=sign != "=" and a == b)

        return node, "truth"

    def sum(self) -> tuple[Node, str]:
        node, kind = self.value()
        while sign := self._taken(("+", "-")):
            other, other_kind = self.value()
            if (kind, other_kind) != ("number", "number"):
                raise self.refused(f"{sign} takes numbers, not comparisons")
            node = _both_sides(node, other, operator.add if sign == "+" else operator.sub)
        return node, kind

    def value(self) -> tuple[Node, str]:
        match = self._match
        if match is None:
            raise self.refused("is incomplete")
        if self.depth > _DEEPEST:
            raise self.refused("is nested too deeply")
        if match.group("region"):
            return self._region(match), "number"
        if match.group("number"):
            number = float(match.group("number"))
            self._next()
            return (lambda look: Value(number)), "number"
        return self._bracketed()

    def _region(self, match: re.Match[str]) -> Node:
        region = match.group("region")
        place = (match.group("condition").strip(), None if region == "*" else int(region))
        self.places.add(place)
        self._next()
        return lambda look: Value(look(place))

    def _bracketed(self) -> tuple[Node, str]:
        self.depth += 1
        sign = self._taken(("(", "[", "-"))
        if sign is None:
            raise self.refused(f"unexpected {self.token!r}")
        if sign == "-":
            inner, kind = self.value()
            if kind != "number":
                raise self.refused("- negates numbers, not comparisons")
            result: tuple[Node, str] = (lambda look: Value(-inner(look).value)), "number"
        else:
            result = self.either()
            if not self._taken((_CLOSING[sign],)):
                raise self.refused(f"a {_CLOSING[sign]} is missing")
        self.depth -= 1
        return result


def _both_sides(left: Node, right: Node, join: Callable[[float, float], float]) -> Node:
    def node(look: Look) -> Value:
        a, b = left(look), right(look)
        return Value(join(a.value, b.value), a.tie or b.tie)

    return node


METRICS = ("sum", "mean", "median", "range", "max", "min")  # of the tokens of a region
_EXPECTED = {list: "a list", dict: "an object", str: "a text", int: "a whole number"}


@dataclass(frozen=True)
class Condition:
    """One sentence of an item, in regions: their numbers and their texts."""

    name: str
    numbers: tuple[int, ...]
    regions: tuple[str, ...]  # "" where a region is empty


@dataclass(frozen=True)
class Item:
    """The sentences that the predictions compare."""

    name: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Suite:
    """Items, and the predictions for each."""

    name: str
    metric: str  # how the surprisals of tokens are combined for a region
    predictions: tuple[Formula, ...]
    items: tuple[Item, ...]


def read_suite(document: Document) -> Suite:
    """The suite of a document."""
    try:
        tree: Any = json.loads(document.text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{document.name}: is not JSON ({error})") from None
    where = document.name
    meta = _get(tree, "meta", dict, where) if isinstance(tree, dict) and "meta" in tree else {}
    metric = meta.get("metric", "sum")
    if metric not in METRICS:
        raise InputError(f"{where}: unknown metric {metric!r}; known: {', '.join(METRICS)}")
    predictions = tuple(_predictions(tree, where))
    items = tuple(_items(tree, where))
    for item in items:
        _check_places(item, predictions, where)
    name = str(meta.get("name") or Path(bare_name(document.name)).stem)
    return Suite(name, metric, predictions, items)


def _predictions(tree: Any, where: str) -> Iterator[Formula]:
    given = _get(tree, "predictions", list, where)
    if not given:
        raise InputError(f"{where}: has no predictions; write at least one formula")
    for number, entry in enumerate(given, 1):
        place = f"{where}, prediction {number}"
        try:
            yield read_formula(_get(entry, "formula", str, place))
        except InputError as error:
            message = str(error)
            raise InputError(
                message if message.startswith(place) else f"{place}: {message}"
            ) from None


def _items(tree: Any, where: str) -> Iterator[Item]:
    given = _get(tree, "items", list, where)
    if not given:
        raise InputError(f"{where}: has no items; write at least one")
    for number, entry in enumerate(given, 1):
        place = f"{where}, item {number}"
        conditions = _get(entry, "conditions", list, place)
        yield Item(
            str(entry.get("item_number", number)),
            tuple(_condition(condition, place) for condition in conditions),
        )


def _condition(entry: Any, where: str) -> Condition:
    name = _get(entry, "condition_name", str, where)
    where = f"{where}, condition {name!r}"
    numbers, regions = [], []
    for region in _get(entry, "regions", list, where):
        numbers.append(_get(region, "region_number", int, where))
        regions.append(" ".join(_get(region, "content", str, where).split()))
    if not any(regions):
        raise InputError(f"{where}: has no words in its regions")
    return Condition(name, tuple(numbers), tuple(regions))


def _check_places(item: Item, predictions: tuple[Formula, ...], where: str) -> None:
    """Refuse predictions about missing conditions or regions."""
    numbers = {condition.name: condition.numbers for condition in item.conditions}
    for name, region in {place for formula in predictions for place in formula.places}:
        if name not in numbers:
            reason = f"has no condition {name!r}; {nearest(name, numbers)}"
            raise InputError(f"{where}, item {item.name}: {reason}")
        if region is not None and region not in numbers[name]:
            reason = f"condition {name!r} has no region {region}, which a prediction names"
            raise InputError(f"{where}, item {item.name}: {reason}")


def _get(entry: Any, key: str, kind: type, where: str) -> Any:
    """The value of a key, which must exist and have the right type."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be an object like {{{json.dumps(key)}: …}}")
    if key not in entry:
        raise InputError(f"{where}: has no {key!r}")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: {key!r} must be {_EXPECTED[kind]}")
    return value
