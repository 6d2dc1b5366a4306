"""One continuation while it is written, and what is told of it as it grows.

`completions.py` makes rows and reads their events; `batching.py` writes them. A row lives in the
thread of its model; events go to the event loop, into the queue of the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from elman.decoding.options import DecodingOptions
from elman.tasks.language_modelling.continuation import Continuation


@dataclass(frozen=True)
class Drawn:
    """A token with its log probability, and the likeliest tokens in its place."""

    id: int
    log_prob: float | None = None  # None where nobody asked
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Scored:
    """The tokens of the prompt with their log probabilities."""

    tokens: tuple[Drawn, ...]


@dataclass(frozen=True)
class Finished:
    """The end of a row, and why: `stop` or `length`."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The end of a row that could not go on."""

    error: Exception


Event = Drawn | Scored | Finished | Failed
Inbox = asyncio.Queue[tuple[int, Event]]  # of a request: number of the choice, and what happened


@dataclass(eq=False)
class Row:
    """A continuation that is being written."""

    choice: int  # its number in the request
    options: DecodingOptions
    continuation: Continuation
    generator: np.random.Generator
    likeliest: int | None  # how many of the likeliest tokens to tell
    inbox: Inbox
    written: list[int] = field(default_factory=list)

    def add(self, token: int) -> str | None:
        """Write a token; why the row ends with it, if it does."""
        self.written.append(token)
        if token in self.options.stop_ids or self.continuation.stops(self.written):
            return "stop"
        return "length" if len(self.written) >= self.options.max_tokens else None


@dataclass(eq=False)
class Work:
    """A prompt, and the rows that go on from it."""

    prompt: Sequence[int]
    rows: list[Row]
    deadline: float  # on the monotonic clock
    scores: int | None = None  # with the prompt's log probabilities: how many likeliest beside each
    cancelled: bool = False  # set by the event loop, seen by the model's thread at its next step
