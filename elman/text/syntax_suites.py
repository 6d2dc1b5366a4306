"""Suites of sentences in regions, with predictions about their surprisal, as SyntaxGym has them.

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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.errors import InputError, nearest
from elman.text.formulas import Formula, read_formula
from elman.text.reader import Document

METRICS = ("sum", "mean", "median", "range", "max", "min")  # of the tokens of a region
_EXPECTED = {list: "a list", dict: "an object", str: "a text", int: "a whole number"}


@dataclass(frozen=True)
class Condition:
    """One sentence of an item, in regions: their numbers, and what stands in each."""

    name: str
    numbers: tuple[int, ...]
    regions: tuple[str, ...]  # "" where a condition has nothing


@dataclass(frozen=True)
class Item:
    """The sentences that the predictions compare."""

    name: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Suite:
    """Items and what is predicted of each."""

    name: str
    metric: str  # how the surprisal of a region comes from that of its tokens
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
    name = str(meta.get("name") or Path(document.name.removesuffix(".gz")).stem)
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
    """That all that is predicted about is there."""
    numbers = {condition.name: condition.numbers for condition in item.conditions}
    for name, region in {place for formula in predictions for place in formula.places}:
        if name not in numbers:
            reason = f"has no condition {name!r}; {nearest(name, numbers)}"
            raise InputError(f"{where}, item {item.name}: {reason}")
        if region is not None and region not in numbers[name]:
            reason = f"condition {name!r} has no region {region}, which a prediction names"
            raise InputError(f"{where}, item {item.name}: {reason}")


def _get(entry: Any, key: str, kind: type, where: str) -> Any:
    """The value under a key, which must be there and be of a kind."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be an object like {{{json.dumps(key)}: …}}")
    if key not in entry:
        raise InputError(f"{where}: has no {key!r}")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: {key!r} must be {_EXPECTED[kind]}")
    return value
