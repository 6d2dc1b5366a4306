"""How a text is read when it is measured: one value that every measure takes.

Made of what the user says (`--reset`, `--batch-size`, `--window`), handed on to `scoring.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from elman.errors import InputError

# Told of work that is done: how many more tokens, of how many in all.
Progress = Callable[[int, int], None]


def silent(tokens: int, of: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Reading:
    """Whether the state is carried through the text; and how the work is cut up, which never
    changes a number.
    """

    reset: str = "stream"  # or "line": from the start state at every line
    batch_size: int = 1  # rows side by side
    window: int | None = None  # tokens at a time; None: as many as suit the measure

    def __post_init__(self) -> None:
        if self.reset not in ("stream", "line"):
            raise InputError(f"reset={self.reset!r}: choose 'stream' (carry the state) or 'line'")
        for name, size in (("batch_size", self.batch_size), ("window", self.window)):
            if size is not None and size < 1:
                raise InputError(f"{name}={size}: must be at least 1")


STREAM = Reading()
