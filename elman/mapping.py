"""Arrays that are mapped from files: give back the memory of the pages that were read.

Pages of a mapped file count as memory of the process until the system needs them for something
else. Code that reads a large mapped array once, from its beginning to its end, calls `forget` after
each part, so that the process stays small.
"""

import mmap

import numpy as np


def forget(array: np.ndarray) -> None:
    """Give back the pages of a mapped array; they are read again when they are used."""
    mapped = getattr(array, "_mmap", None) if isinstance(array, np.memmap) else None
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
