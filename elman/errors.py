"""The two kinds of failure a user can meet, each one clear line.

Raised by every room, caught once: the command line prints the message and exits with the code.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class ElmanError(Exception):
    """Something went wrong that is nobody's input: exit code 1."""

    exit_code = 1


class InputError(ElmanError):
    """What was given cannot be used: says where, what and how to fix it; exit code 2."""

    exit_code = 2


class DiskFull(ElmanError):
    """There is no room for a file; what was saved before is whole."""


class DataWarning(UserWarning):
    """Something in the data is probably not as the user thinks; the work goes on."""


# What comes of parts that do not belong together: settings, numbers and tensors of different runs.
UNFIT = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError)


class UnknownName(InputError):
    """A name that is neither elman's own nor brought by an installed package."""

    def __init__(self, message: str, member: str = "") -> None:
        super().__init__(message)
        self.member = member  # as `registry.origins` calls it: "cell leaky"


def is_memory_error(error: BaseException) -> bool:
    """Whether there was too little memory: torch has an error of its own for that."""
    said = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and ("allocate" in said or "out of memory" in said)
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` when a known name is close, else the list of known names."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"


def choose(family: dict[str, Any], name: str, what: str) -> Any:
    """The entry of a room's dict, or an InputError that names the nearest one."""
    if name not in family:
        raise InputError(f"unknown {what} {name!r}; {nearest(name, family)}")
    return family[name]
