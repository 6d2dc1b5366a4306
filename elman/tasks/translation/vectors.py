"""Sources that are vectors, such as image features: `.npy` and `.npz` files.

    (N, F)       one vector per example
    (N, S, F)    S vectors per example, as of the fields of a grid
    (N, H, W, F) the same with its rows and columns, read row by row
    .npz         one array of these; or an array per example, (F,), (S, F) or (H, W, F), by number

Takes a file, returns an array (S, F) of 32-bit floats per example; called by `parallel.py` and by
`elman translate`. Nothing in a file is executed; wrong arrays are refused in one line.
"""

import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from elman.errors import InputError

_ENDINGS = (".npy", ".npz")


def is_vectors(path: Path) -> bool:
    """Whether a file contains vectors, by its name."""
    return path.suffix in _ENDINGS


def read_vectors(path: str | Path) -> list[np.ndarray]:
    """The vectors of every example, (S, F) each, all of one F."""
    path = Path(path)
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        examples = _examples(path, loaded)
    else:
        first = next(iter(loaded.values()), np.zeros(0))
        if len(loaded) == 1 and first.ndim > 1:
            examples = _examples(path, first)
        else:
            examples = [_grid(f"{path}, {name}", loaded[name]) for name in sorted(loaded, key=_key)]
    if not examples:
        raise InputError(f"{path}: has no vectors; give one per example")
    sizes = {example.shape[1] for example in examples}
    if len(sizes) > 1:
        raise InputError(f"{path}: vectors have different sizes: {sorted(sizes)}; give one size")
    return examples


def _load(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """One array, or several by name."""
    try:
        loaded: Any = np.load(BytesIO(path.read_bytes()), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        return {name: loaded[name] for name in loaded.files}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):  # their messages mention pickles
        raise InputError(
            f"{path}: is not an array of numbers; write it with numpy.save or numpy.savez"
        ) from None


def _examples(path: Path, array: np.ndarray) -> list[np.ndarray]:
    """An array of all examples as one array each."""
    if array.ndim not in (2, 3, 4):
        raise InputError(
            f"{path}: has the shape {array.shape}; give (examples, numbers), "
            "(examples, places, numbers) or (examples, rows, columns, numbers)"
        )
    return [_grid(f"{path}, example {number}", one) for number, one in enumerate(array, 1)]


def _grid(where: str, array: np.ndarray) -> np.ndarray:
    """One example as (S, F)."""
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2, 3) or not array.size:
        raise InputError(
            f"{where}: has the shape {array.shape} of {array.dtype}; "
            "give numbers as (numbers,), (places, numbers) or (rows, columns, numbers)"
        )
    if not np.isfinite(array).all():
        raise InputError(f"{where}: contains NaN or infinity; give finite numbers")
    return np.ascontiguousarray(array.reshape(-1, array.shape[-1]), dtype=np.float32)


def _key(name: str) -> list[Any]:
    """Names with numbers in the order of these: image2 before image10."""
    pieces = re.split(r"(\d+)", name)
    return [int(piece) if piece.isdecimal() else piece for piece in pieces]
