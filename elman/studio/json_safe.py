"""Data as it may leave: without infinite numbers, which JSON lacks, and without paths of ours.

Called before every response.
"""

from __future__ import annotations

import math
from pathlib import PurePath
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


def last_part(place: Any) -> str | None:
    """The name of a recipe or corpus, without the folders that it lies in."""
    return None if place is None else PurePath(str(place)).name
