"""Everything of one kind that can be chosen by name: one line each, imported when first asked for.

    CELLS = Registry("cell", {"lstm": "elman.cells.lstm:LSTM", …}, group="cells")

Takes names and places, "module:what in it" or a whole module, gives what stands there; so a list of
names costs no import of torch. What is chosen says of itself what it is, in `about`; a module in
`ABOUT`.

Others may add their own, under names that are not taken: in Python `CELLS["mine"] = MyCell`, or the
place of it; and any installed package by an entry point of the group "elman.cells". Those are read
when a name is asked for that is not built in, or when all are. A name that comes from a file, like
that in a run folder, is only ever looked up: it cannot say what is imported.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from types import ModuleType
from typing import Any

from elman.config import convert
from elman.errors import InputError, UnknownName, nearest


class Registry(MutableMapping[str, Any]):
    """Names to what they stand for."""

    def __init__(self, what: str, places: dict[str, Any], group: str = "") -> None:
        self.what = what  # as messages call one of them
        self.group = f"elman.{group}" if group else ""  # of entry points; none: it reads none
        self._built_in = frozenset(places)
        self._places = dict(places)
        self._added: set[str] = set()  # by Python code
        self._read = not group
        if group:
            _OPEN.append(self)

    def __getitem__(self, name: str) -> Any:
        found = self._places[name] if name in self._places else self._all()[name]
        if isinstance(found, EntryPoint):
            self._places[name] = found = self._import(found)
        elif isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = import_module(module)
            found = getattr(found, attribute) if attribute else found
            self._places[name] = found
        return found

    def __setitem__(self, name: str, place: Any) -> None:
        if name in self._built_in:
            raise InputError(f"the {self.what} {name!r} is elman's own; choose another name")
        self._places[name] = place
        self._added.add(name)

    def __delitem__(self, name: str) -> None:
        del self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places or name in self._all()  # without an import

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def choose(self, name: str) -> Any:
        """What the name stands for, or an InputError that names the nearest one."""
        self.check(name)
        return self[name]

    def check(self, name: str) -> None:
        """Refuse a name that is not known."""
        if name not in self:
            raise UnknownName(
                f"unknown {self.what} {name!r}; {nearest(name, self)}", f"{self.what} {name}"
            )

    def abouts(self) -> dict[str, str]:
        """What each of them says of itself, by name."""
        return {name: _about(member) for name, member in self.items()}

    def origin(self, name: str) -> str | None:
        """The package that brings a name, as "leaky-cell 0.1"; "" if Python code added it.

        None for what is elman's own, and for a name that nobody has asked for.
        """
        if name in self._built_in or name not in self._places:
            return None
        points = [] if name in self._added else self._points()
        return next((_package(point) for point in points if point.name == name), "")

    def _all(self) -> dict[str, Any]:
        """Names and places, with those of installed packages, which are read once."""
        if not self._read:
            brought: dict[str, Any] = {}
            for point in self._points():
                self._refuse_clash(point, brought.get(point.name))
                brought[point.name] = point
            # Behind elman's own; what Python has added meanwhile stays.
            self._places |= {name: brought[name] for name in brought if name not in self._places}
            self._read = True
        return self._places

    def _points(self) -> EntryPoints:
        return _installed(self.group, tuple(sys.path))

    def _refuse_clash(self, point: EntryPoint, other: EntryPoint | None) -> None:
        """A name has one meaning."""
        if point.name in self._built_in or other is not None:
            owner = "elman" if other is None else _package(other)
            raise InputError(
                f"{_package(point)} brings a {self.what} {point.name!r}, but so does {owner}; "
                "rename it there, or uninstall the package"
            )

    def _import(self, point: EntryPoint) -> Any:
        """What an installed package brings; its failures are its own, and said in one line."""
        try:
            return point.load()
        except Exception as error:
            raise InputError(
                f"the {self.what} {point.name!r} of {_package(point)} cannot be imported from "
                f"{point.value!r} ({' '.join(f'{type(error).__name__}: {error}'.split())})"
            ) from error


_OPEN: list[Registry] = []  # those that other packages can add to


def origins(settings: Any) -> dict[str, str]:
    """Which of the names in settings are not elman's own: "cell leaky" to `Registry.origin`.

    Kept by runs, so that a place where the package is not installed can say what is missing.
    """
    if isinstance(settings, dict):
        settings = [*settings.values()]
    if isinstance(settings, list | tuple):
        return {name: origin for value in settings for name, origin in origins(value).items()}
    if not isinstance(settings, str):
        return {}
    found = {f"{family.what} {settings}": family.origin(settings) for family in _OPEN}
    return {name: origin for name, origin in found.items() if origin is not None}


@cache
def _installed(group: str, path: tuple[str, ...]) -> EntryPoints:
    """The entry points of a group in all packages on the path; none: of no group."""
    return entry_points(group=group)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _about(member: Any) -> str:
    return member.ABOUT if isinstance(member, ModuleType) else member.about


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
    """The options of a class, like `forget_bias` of a cell: name to type, None if none is declared.

    They are its arguments that have a default, so a class declares them by having them. One that
    takes `**options` hands them on, so it has those of its parent too.
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
