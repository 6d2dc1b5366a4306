"""Formulas over the surprisal of regions, as SyntaxGym writes its predictions.

    (4;%mismatch%) > (4;%match%)                     region 4 is the more surprising one
    [(5;%a%) - (5;%b%)] > [(5;%c%) - (5;%d%)] & (*;%a%) < 40

Takes a formula, gives a `Formula` that can be asked for its value and for the regions in it; called
by `syntax_suites.py`. A formula is read by rules, from the weakest to the strongest, and never
given to Python's `eval`:

    either      = both { "|" both }
    both        = comparison { "&" comparison }
    comparison  = sum [ (">" | "<" | ">=" | "<=" | "=") sum ]
    sum         = value { ("+" | "-") value }
    value       = number | region | "-" value | "(" either ")" | "[" either "]"
    region      = "(" (number | "*") ";%" condition "%)"        * is the whole sentence
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from elman.errors import InputError

# "=" holds for sums that are as near as this, as in SyntaxGym.
_RELATIVE, _ABSOLUTE = 1e-5, 1e-3
_DEEPEST = 50  # brackets in brackets

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
    """What a formula is about one item: true or a number, and whether two sides were equal."""

    value: float | bool
    tie: bool = False


Node = Callable[[Look], Value]


@dataclass(frozen=True)
class Formula:
    """A prediction that holds for an item or does not."""

    text: str
    places: frozenset[Place]
    _node: Node = field(repr=False)

    def holds(self, look: Look) -> Value:
        """Whether it is true, with the surprisal of each place from `look`."""
        return self._node(look)


def read_formula(text: str) -> Formula:
    """The formula of a text; an InputError says what is wrong with it."""
    reader = _Reader(text)
    node, kind = reader.either()
    if reader.token is not None:
        raise reader.refused(f"{reader.token!r} is not expected here")
    if kind != "truth":
        raise reader.refused("nothing is compared; write for example (4;%a%) > (4;%b%)")
    return Formula(text, frozenset(reader.places), node)


class _Reader:
    """One method per rule; each gives a node and whether that is a `number` or a `truth`."""

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
            raise self.refused(f"{rest[:20]!r} cannot be read; a region is written (4;%name%)")
        self._at = self._match.end()

    def _taken(self, signs: tuple[str, ...]) -> str | None:
        """The sign that stands here, if it is one of these; it is then behind us."""
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
                raise self.refused(f"{sign} stands between comparisons, not numbers")
            node = _both_sides(node, other, lambda a, b: join(bool(a), bool(b)))
        return node, kind

    def comparison(self) -> tuple[Node, str]:
        left, kind = self.sum()
        sign = self._taken(tuple(_COMPARISONS))
        if sign is None:
            return left, kind
        right, other = self.sum()
        if (kind, other) != ("number", "number"):
            raise self.refused(f"{sign} stands between numbers, not comparisons")
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
                raise self.refused(f"{sign} stands between numbers, not comparisons")
            node = _both_sides(node, other, operator.add if sign == "+" else operator.sub)
        return node, kind

    def value(self) -> tuple[Node, str]:
        match = self._match
        if match is None:
            raise self.refused("something is missing at its end")
        if self.depth > _DEEPEST:
            raise self.refused("it is nested too deep")
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
            raise self.refused(f"{self.token!r} is not expected here")
        if sign == "-":
            inner, kind = self.value()
            if kind != "number":
                raise self.refused("- stands before numbers, not comparisons")
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
