"""Files with a JSON object in every line.

Takes a document and how a line has to look, gives the objects with the place of each, for messages;
called by the readers of examples, pairs and minimal pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from elman.errors import InputError
from elman.text.reader import Document


def read_json_lines(document: Document, form: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Of every line its place and its object; None of a line without anything."""
    for number, line in enumerate(document.text.removesuffix("\n").split("\n"), 1):
        where = f"{document.name}, line {number}"
        yield where, _parse(where, line, form) if line.strip() else None


def _parse(where: str, line: str, form: str) -> dict[str, Any]:
    try:
        entry: Any = json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"is not JSON ({error.msg}); write one object per line, like {form}"
        raise InputError(f"{where}: {reason}") from None
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply; write {form}") from None
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be an object like {form}")
    return entry
