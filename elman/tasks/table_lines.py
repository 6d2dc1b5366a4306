"""How answers look in a terminal: aligned tables for people, columns with tabs for programs.

Takes a header and rows of values, gives lines; called by the answers to questions and by commands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

_NUMBER = re.compile(r"[-+−]?[\d.,]+(e-?\d+)?|[–∞]")


def aligned_lines(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """An aligned table; columns of numbers are aligned right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[c]) for row in [list(header), *cells]) for c in range(len(header))]
    numeric = [all(_NUMBER.fullmatch(row[c]) for row in cells) for c in range(len(header))]
    lines = []
    for row in [list(header), ["─" * width for width in widths], *cells]:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(aligned).rstrip())
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:,.4g}" if abs(value) < 10 else f"{value:,.2f}"
    return str(value)
