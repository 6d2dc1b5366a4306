"""The parts of a run as files: `.json` from data, `.safetensors` from arrays, the rest from text.

Takes and gives the contents of one file; the ending of its name says of which kind it is. Nothing
is pickled. Called by `folder.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from elman.atomic import flush
from elman.errors import InputError

Content = dict[str, Any] | Mapping[str, np.ndarray] | str


def write_part(path: Path, content: Content) -> None:
    """Write a part; it is on the disk afterwards."""
    if path.suffix == ".safetensors":
        arrays = {name: np.asarray(array, order="C") for name, array in content.items()}  # type: ignore[union-attr]
        path.write_bytes(save(arrays))
    elif path.suffix == ".json":
        path.write_text(as_json(content), encoding="utf-8")
    else:
        path.write_text(str(content), encoding="utf-8")
    flush(path)


def read_part(path: Path) -> Any:
    """What was written, or an InputError."""
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else text
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path}: cannot be understood ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def size_of(name: str, content: Content) -> int:
    """About how many bytes a part takes."""
    if name.endswith(".safetensors"):
        return sum(array.nbytes for array in content.values())  # type: ignore[union-attr, misc]
    return len(as_json(content))


def as_json(data: Any) -> str:
    """Data as it is written in files of a run."""
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
