"""What a run owes to other packages: a cell, a smoother, an optimizer that is not elman's own.

Kept among the facts of a run as "cell leaky" to "leaky-cell 0.1"; read again when something is
missing, for the message alone: nothing is imported or installed because a run folder names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elman.errors import InputError, UnknownName
from elman.recipes import RunConfig
from elman.registry import origins

_PACKAGE = re.compile(r"[\w.-]{1,100} [\w.+!-]{1,50}")  # what was in a folder is printed: no tricks


def keep_plugins(facts: dict[str, Any], config: RunConfig) -> None:
    """Put it among the facts of a run, if there is anything."""
    if found := origins(config.to_data()):
        facts["packages"] = found


@contextmanager
def explaining_what_is_missing(path: Path, facts: Any) -> Iterator[None]:
    """Say of a name that is not known here where the run had it from."""
    try:
        yield
    except UnknownName as error:
        kept = facts.get("packages") if isinstance(facts, dict) else None
        package = kept.get(error.member) if isinstance(kept, dict) else None
        what, _, name = error.member.rpartition(" ")
        if package == "":
            raise InputError(
                f"{path}: its {what} {name!r} was added in Python; add it again before loading, "
                "or make it a package with an entry point"
            ) from None
        if not isinstance(package, str) or not _PACKAGE.fullmatch(package):
            raise InputError(f"{path}: {error}") from None
        raise InputError(
            f"{path}: its {what} {name!r} is not part of elman; it came with {package}, "
            "which is not installed here: pip install it"
        ) from None
