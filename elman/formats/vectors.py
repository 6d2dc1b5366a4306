"""Vectors of a text as a safetensors file: `line.N` (layers, words, numbers), words as metadata.

Takes lines with their vectors, from `vectors.py`; called by `elman embed --out`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from elman.atomic import replacing
from elman.errors import InputError


def write_vectors(path: Path, lines: Sequence[tuple[Sequence[str], np.ndarray]]) -> None:
    """Write the file atomically; lines without words have no vectors, but keep their number."""
    arrays = {f"line.{n}": layers for n, (words, layers) in enumerate(lines, 1) if words}
    every = json.dumps([words for words, _ in lines], ensure_ascii=False)
    try:
        with replacing(path) as temporary:
            save_file(arrays, temporary, metadata={"words": every})
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be written ({error})") from None
