"""Everything of one kind that can be chosen by name: one line each, imported when first asked for.

    CELLS = Registry("cell", {"lstm": "elman.cells.lstm:LSTM", …})

Takes names and places, "module:what in it" or a whole module, gives what stands there; so a list of
names costs no import of torch. What is chosen says of itself what it is, in `about`; a module in
`ABOUT`. Another package may add its own: `CELLS["mine"] = MyCell`, or the place of it.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from types import ModuleType
from typing import Any

from elman.errors import InputError, nearest


class Registry(MutableMapping[str, Any]):
    """Names to what they stand for."""

    def __init__(self, what: str, places: dict[str, Any]) -> None:
        self.what = what  # as messages call one of them
        self._places = dict(places)

    def __getitem__(self, name: str) -> Any:
        found = self._places[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = import_module(module)
            found = getattr(found, attribute) if attribute else found
            self._places[name] = found
        return found

    def __setitem__(self, name: str, place: Any) -> None:
        self._places[name] = place

    def __delitem__(self, name: str) -> None:
        del self._places[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places  # without an import

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def choose(self, name: str) -> Any:
        """What the name stands for, or an InputError that names the nearest one."""
        self.check(name)
        return self[name]

    def check(self, name: str) -> None:
        """Refuse a name that is not known."""
        if name not in self:
            raise InputError(f"unknown {self.what} {name!r}; {nearest(name, self)}")

    def abouts(self) -> dict[str, str]:
        """What each of them says of itself, by name."""
        return {name: _about(member) for name, member in self.items()}


def _about(member: Any) -> str:
    words: str = member.ABOUT if isinstance(member, ModuleType) else member.about
    return words
