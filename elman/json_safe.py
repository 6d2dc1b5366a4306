"""Convert data to valid JSON: dataclasses become objects, NaN and infinity become null.

Called for every `--json` output and every response of the server.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any


def json_safe(data: Any) -> Any:
    """The same data in dicts, lists, texts and finite numbers."""
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        data = {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
    if isinstance(data, dict):
        return {str(key): json_safe(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [json_safe(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
