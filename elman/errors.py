"""The two kinds of failure that a user can meet, each with a one-line message.

Raised everywhere, caught once: the command line prints the message and exits with the code.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class ElmanError(Exception):
    """A failure that is not caused by the user's input: exit code 1."""

    exit_code = 1


class InputError(ElmanError):
    """Unusable input; the message says where, what, and how to fix it: exit code 2.

    `in_python`: the message for calls in Python, if the usual one names options of a command.
    """

    exit_code = 2

    def __init__(self, message: str, *, in_python: str = "") -> None:
        super().__init__(message)
        self.in_python = in_python or message


class ArgumentError(InputError, ValueError):
    """An unusable argument of a call in Python, where a ValueError is expected."""


@contextmanager
def argument_errors() -> Iterator[None]:
    """Turn errors about the input into those of a call in Python: a ValueError, no options."""
    try:
        yield
    except InputError as error:
        if isinstance(error, ValueError):
            raise
        raise ArgumentError(error.in_python) from None


class DiskFull(ElmanError):
    """The disk is full; everything saved before is intact."""


class DataWarning(UserWarning):
    """The data probably differs from what the user expects; the work continues."""


# The errors raised when settings, numbers and tensors come from different runs.
UNFIT = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError)


class UnknownName(InputError):
    """A name that neither elman nor an installed package defines."""

    def __init__(self, message: str, member: str = "") -> None:
        super().__init__(message)
        self.member = member  # as `registry.origins` calls it: "cell leaky"


def is_memory_error(error: BaseException) -> bool:
    """Whether an error means too little memory; torch raises a RuntimeError for that."""
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
