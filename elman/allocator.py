"""Keep memory between equal pieces of work, where the C library is glibc.

By default, glibc returns large blocks to the system as soon as they are free. Every step of a
training allocates the same blocks again, so it pays for the same page faults again: with
`zaremba-small`, 6,700 faults and a sixth of the processor time. Scoring a text with an n-gram model
is slower by a third for the same reason. Called once per training by `training/machine.py`, and by
`evaluation/scoring.py` for a much smaller amount.
"""

import ctypes
import os

KEPT_BYTES = 2**31 - 1  # glibc returns free memory at the end of the heap beyond this
KEPT_WHEN_SCORING = 2**26
_LARGEST_SHARE = 2  # blocks larger than this part of it are returned at once
_GROWTH_SHARE = 32  # the heap grows by this part of it at least

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of malloc.h
_kept = 0  # the setting of this process; a smaller one does not replace it


def keep_memory(kept: int = KEPT_BYTES) -> bool:
    """Tell glibc to keep so many bytes of free memory, or more if it was told so before.

    False: this is not glibc, or ELMAN_KEEP_MEMORY is 0.
    """
    global _kept
    if os.environ.get("ELMAN_KEEP_MEMORY") == "0":
        return False
    if kept <= _kept:
        return True
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 (raises an AttributeError elsewhere)
        change = library.mallopt
    except (OSError, TypeError, AttributeError):
        return False
    settings = {
        _MMAP_THRESHOLD: kept // _LARGEST_SHARE,
        _TRIM_THRESHOLD: kept,
        _TOP_PAD: kept // _GROWTH_SHARE,
    }
    done = [change(name, value) == 1 for name, value in settings.items()]
    _kept = kept
    return all(done)
