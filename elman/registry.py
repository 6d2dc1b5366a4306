"""Components that users choose by name: one line each, imported on first use.

    CELLS = Registry("cell", {"lstm": "elman.cells.lstm:LSTM", …}, group="cells")

Takes names and import paths ("module:attribute", or a whole module), gives the objects. So listing
the names does not import torch. Each component describes itself in one line: `about`, or `ABOUT`
for a module.

You can add your own under a free name: in Python with `CELLS["mine"] = MyCell` or its import path,
or from an installed package with an entry point in the group "elman.cells". Entry points are read
when a name is not built in, or when all names are listed. A name that comes from a file, such as a
run folder, is only looked up: it cannot choose which module is imported.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from elman.config import convert
from elman.entry_points import entry_points_of
from elman.errors import InputError, UnknownName, nearest


@dataclass(frozen=True)
class _Brought:
    """A component of an installed package, not imported yet."""

    point: Any  # an importlib.metadata.EntryPoint


class Registry(MutableMapping[str, Any]):
    """A mapping from names to components."""

    def __init__(self, what: str, places: dict[str, Any], group: str = "") -> None:
        self.what = what  # the word for one component in messages
        self.group = f"elman.{group}" if group else ""  # of entry points; "": closed to packages
        self._built_in = frozenset(places)
        self._places = dict(places)
        self._added: set[str] = set()  # by Python code
        self._read = not group
        if group:
            _OPEN.append(self)

    def __getitem__(self, name: str) -> Any:
        found = self._places[name] if name in self._places else self._all()[name]
        if isinstance(found, _Brought):
            self._places[name] = found = self._import(found.point)
        elif isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = import_module(module)
            found = getattr(found, attribute) if attribute else found
            self._places[name] = found
        return found

    def __setitem__(self, name: str, place: Any) -> None:
        if name in self._built_in:
            raise InputError(f"the {self.what} {name!r} is built in; choose another name")
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
        """The component of that name, or an InputError that suggests the nearest name."""
        self.check(name)
        return self[name]

    def check(self, name: str) -> None:
        """Refuse an unknown name."""
        if name not in self:
            raise UnknownName(
                f"unknown {self.what} {name!r}; {nearest(name, self)}", f"{self.what} {name}"
            )

    def abouts(self) -> dict[str, str]:
        """The one-line description of each component, by name."""
        return {name: _about(member) for name, member in self.items()}

    def origin(self, name: str) -> str | None:
        """The package that provides a name, as "leaky-cell 0.1"; "" if Python code added it.

        None for built-in names and for names that were never looked up.
        """
        if name in self._built_in or name not in self._places:
            return None
        points = [] if name in self._added else self._points()
        return next((_package(point) for point in points if point.name == name), "")

    def _all(self) -> dict[str, Any]:
        """Names and import paths, including those of installed packages, which are read once."""
        if not self._read:
            brought: dict[str, _Brought] = {}
            for point in self._points():
                self._refuse_clash(point, brought.get(point.name))
                brought[point.name] = _Brought(point)
            # Built-in names come first; names that Python code added meanwhile stay.
            self._places |= {name: brought[name] for name in brought if name not in self._places}
            self._read = True
        return self._places

    def _points(self) -> Iterable[Any]:
        return entry_points_of(self.group) if self.group else ()

    def _refuse_clash(self, point: Any, other: _Brought | None) -> None:
        """Refuse a name that is defined twice."""
        if point.name in self._built_in or other is not None:
            owner = "elman" if other is None else _package(other.point)
            raise InputError(
                f"{_package(point)} provides a {self.what} {point.name!r}, but so does {owner}; "
                "rename it there, or uninstall the package"
            )

    def _import(self, point: Any) -> Any:
        """The component of an installed package; a failed import becomes a one-line error."""
        try:
            return point.load()
        except Exception as error:
            raise InputError(
                f"the {self.what} {point.name!r} of {_package(point)} cannot be imported from "
                f"{point.value!r} ({' '.join(f'{type(error).__name__}: {error}'.split())})"
            ) from error


_OPEN: list[Registry] = []  # the registries that other packages can extend


def origins(settings: Any) -> dict[str, str]:
    """The names in settings that are not built in: "cell leaky" to `Registry.origin`.

    Runs store this, so that elman can name the missing package where it is not installed.
    """
    if isinstance(settings, dict):
        settings = [*settings.values()]
    if isinstance(settings, list | tuple):
        return {name: origin for value in settings for name, origin in origins(value).items()}
    if not isinstance(settings, str):
        return {}
    found = {f"{family.what} {settings}": family.origin(settings) for family in _OPEN}
    return {name: origin for name, origin in found.items() if origin is not None}


def _package(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _about(member: Any) -> str:
    return member.ABOUT if isinstance(member, ModuleType) else member.about


def check_options(
    family: Registry, name: str, options: dict[str, Any], where: str = "options"
) -> dict[str, Any]:
    """Convert options to the types that a component declares; `where` names them in messages.

    Raises an InputError for an unknown option.
    """
    return convert_options(family.choose(name), options, f"the {family.what} {name!r}", where)


def convert_options(kind: type, options: dict[str, Any], whose: str, where: str) -> dict[str, Any]:
    """Convert options to the types that a class declares; `whose` and `where` are for messages."""
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

    They are the arguments with a default. A class that takes `**options` passes them on, so it has
    the options of its parent too.
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
