"""Keep memory between the steps of a training, where the C library is glibc.

By default, glibc returns large blocks to the system as soon as they are free. Every step of a
training allocates the same blocks again, so it pays for the same page faults again: with
`zaremba-small`, 6,700 faults and a sixth of the processor time. Called by `machine.py`, once per
training.
"""

import ctypes
import os

KEPT_BYTES = 2**31 - 1  # glibc returns free memory at the end of the heap beyond this
LARGEST_BLOCK = 2**30  # larger blocks are still returned at once
_GROWTH = 2**26  # the heap grows by this much at least

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of malloc.h


def keep_memory() -> bool:
    """Tell glibc to keep free memory. False: this is not glibc, or ELMAN_KEEP_MEMORY is 0."""
    if os.environ.get("ELMAN_KEEP_MEMORY") == "0":
        return False
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 (raises an AttributeError elsewhere)
        change = library.mallopt
    except (OSError, TypeError, AttributeError):
        return False
    settings = {
        _MMAP_THRESHOLD: LARGEST_BLOCK,
        _TRIM_THRESHOLD: KEPT_BYTES,
        _TOP_PAD: _GROWTH,
    }
    done = [change(name, value) == 1 for name, value in settings.items()]
    return all(done)
