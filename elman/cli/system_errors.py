"""Turn errors of the operating system into one clear line and an exit code.

    1    the machine: no memory, a full or read-only disk, no free file handles, a broken terminal
    2    the input: text that is not UTF-8 or is nested too deeply

All other errors are bugs in elman and keep their traceback. Called once, by the command line.
"""

import errno

from elman.errors import is_memory_error

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file is larger than allowed here (ulimit -f)",
    errno.EROFS: "the disk is read-only",
    errno.EMFILE: "too many files are open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine",
    errno.EIO: "the disk or the terminal does not respond",
    errno.ENOMEM: "there is not enough memory",
}
_MEMORY = (
    "there is not enough memory; use a smaller model, a smaller batch (--batch-size, or "
    "--set training.batch_size=…) or less text"
)
# Messages of the loader and of threads when memory runs out; neither has its own error class.
_MEMORY_SAID = ("cannot allocate memory", "failed to map segment", "can't start new thread")


def system_problem(error: Exception) -> tuple[str, int] | None:
    """The message and the exit code; None for errors that do not come from the system."""
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
