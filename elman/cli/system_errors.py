"""What the system refuses, as one clear line and an exit code.

    1    the machine: no memory, a full or read-only disk, no free file handles, a broken terminal
    2    the input: text that is no UTF-8, or that is nested too deeply

Anything else is a fault of elman and keeps its traceback. Called once, by the command line.
"""

import errno

from elman.errors import is_memory_error

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not become that large here (ulimit -f)",
    errno.EROFS: "the disk is read-only",
    errno.EMFILE: "too many files are open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine",
    errno.EIO: "the disk or the terminal does not answer",
    errno.ENOMEM: "there is not enough memory",
}
_MEMORY = (
    "there is not enough memory; use a smaller model, a smaller batch (--batch-size, or "
    "--set training.batch_size=…) or less text"
)
# Said by the loader and by threads when memory ends; neither has an error of its own.
_MEMORY_SAID = ("cannot allocate memory", "failed to map segment", "can't start new thread")


def system_problem(error: Exception) -> tuple[str, int] | None:
    """What to say, and the exit code; None for what the system has no part in."""
    if is_memory_error(error) or any(said in str(error).lower() for said in _MEMORY_SAID):
        return _MEMORY, 1
    if isinstance(error, RecursionError):
        return "the input is nested too deeply", 2
    if isinstance(error, UnicodeError):
        return f"the input has characters that cannot be read or written ({error})", 2
    if isinstance(error, OSError):
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        return f"{error.filename or 'output'}: {reason}", 1
    return None
