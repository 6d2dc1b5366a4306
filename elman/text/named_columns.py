"""Columns of tables by name: `text=utterance,label=intent`.

Takes what a user wrote after `--columns`, or the setting `text.columns`, gives a dict from what is
read (text, label, source, target …) to the column that has it: a name in the header, a key of JSON
lines, or a number, the first column being 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from elman.errors import InputError, nearest


def parse_columns(written: str) -> dict[str, str]:
    """`text=utterance,label=intent` as a dict."""
    columns: dict[str, str] = {}
    for word in written.split(","):
        role, separator, column = (part.strip() for part in word.partition("="))
        if not (role and separator and column):
            raise InputError(
                f"--columns {written}: write what each column has, like text=utterance,label=intent"
            )
        if role in columns:
            raise InputError(f"--columns {written}: {role} is named twice; name one column for it")
        columns[role] = column
    return columns


def columns_setting(written: str) -> str:
    """What was written after `--columns` as a setting, `text.columns={…}`."""
    pairs = [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in parse_columns(written).items()]
    return f"text.columns={{{', '.join(pairs)}}}"


def check_columns(columns: dict[Any, Any], roles: Sequence[str]) -> dict[str, str]:
    """Columns whose roles are all known, each with a column of its own."""
    for role in columns:
        if role not in roles:
            raise InputError(
                f"columns: {role!r} is not read from such a table; {nearest(str(role), roles)}"
            )
    found = {str(role): str(column) for role, column in columns.items()}
    if len({*found.values()}) < len(found):
        raise InputError(f"columns: {', '.join(found)} need a column each; name different ones")
    return found
