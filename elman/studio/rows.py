"""One continuation while it is written, its prompt while it is read, and what is told of both.

`completions.py` makes rows and reads their events; `batching.py` reads prompts chunk by chunk, so
that others are served between two of them, and writes the rows. A row lives in the thread of its
model; events go to the event loop, into the queue of the request.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from elman.decoding.options import DecodingOptions
from elman.models.contract import LanguageModel
from elman.state import State
from elman.tasks.language_modelling.continuation import Continuation

_CHUNK = 128  # tokens that are read at once; always the same, so that bits are too


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


class PromptReading:
    """A prompt while it is read, chunk by chunk."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.state: State | None = None
        self.scored: list[Drawn] = []
        self._next = 0

    @property
    def is_done(self) -> bool:
        return self.state is not None and self._next >= len(self.work.prompt)

    def read(self, model: LanguageModel) -> int:
        """Read one more chunk; how many tokens it had."""
        if self.state is None:
            self.state = model.start(1)
        chunk = self.work.prompt[self._next : self._next + _CHUNK]
        self._next += len(chunk)
        if not len(chunk):
            return 0
        ids = torch.tensor([list(chunk)])
        if self.work.scores is None:
            self.state = model.read(ids, self.state)
            return len(chunk)
        log_probs, self.state = model.predict_all(ids, self.state)
        for token, row in zip(chunk, log_probs[0].cpu().double(), strict=True):
            self.scored.append(told_of(int(token), row, self.work.scores))
        return len(chunk)


def told_of(token: int, log_probs: torch.Tensor, likeliest: int | None) -> Drawn:
    """What is told of a token: its log probability, (V,), and the likeliest ones beside it."""
    if likeliest is None:
        return Drawn(token)
    values, ids = log_probs.topk(min(likeliest, len(log_probs)))
    top = tuple(zip(ids.tolist(), values.tolist(), strict=True))
    return Drawn(token, float(log_probs[token]), top)
