"""Data as JSON can have it: no infinite numbers, tuples as lists. Called before every response."""

from __future__ import annotations

import math
from typing import Any


def as_plain(data: Any) -> Any:
    """The same with null for every number that is not finite."""
    if isinstance(data, dict):
        return {str(key): as_plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [as_plain(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
