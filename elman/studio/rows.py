"""A continuation in progress (a row), the reading of its prompt, and the events of both.

`completions.py` makes rows and reads their events. `batching.py` reads prompts in chunks, so that
other rows are served in between, and generates the rows. A row lives in the thread of its model;
its events go to the event loop, into the queue of the request.
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

_CHUNK = 128  # tokens read at once; constant, so that results are bit-identical


@dataclass(frozen=True)
class Drawn:
    """A sampled token with its log probability and the most probable tokens at its place."""

    id: int
    log_prob: float | None = None  # None if not requested
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Written:
    """Several sampled tokens, of a row whose text is wanted as a whole."""

    tokens: tuple[Drawn, ...]


@dataclass(frozen=True)
class Scored:
    """The tokens of the prompt with their log probabilities."""

    tokens: tuple[Drawn, ...]


@dataclass(frozen=True)
class Finished:
    """The end of a row, with the reason: `stop` or `length`."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The end of a row with an error."""

    error: Exception


Event = Drawn | Written | Scored | Finished | Failed
Inbox = asyncio.Queue[tuple[int, Event]]  # per request: number of the choice, and the event


@dataclass(eq=False)
class Row:
    """A continuation in progress."""

    choice: int  # its number in the request
    options: DecodingOptions
    continuation: Continuation
    generator: np.random.Generator
    likeliest: int | None  # how many top tokens to report
    inbox: Inbox
    streamed: bool = True  # send every token at once; otherwise the first, and the rest at the end
    written: list[int] = field(default_factory=list)
    unsent: list[Drawn] = field(default_factory=list)

    def add(self, token: int) -> str | None:
        """Append a token; return the reason if the row ends with it."""
        self.written.append(token)
        if token in self.options.stop_ids or self.continuation.stops(self.written):
            return "stop"
        return "length" if len(self.written) >= self.options.max_tokens else None


@dataclass(eq=False)
class Work:
    """A prompt, and the rows that continue it."""

    prompt: Sequence[int]
    rows: list[Row]
    deadline: float  # on the monotonic clock
    scores: int | None = None  # to score the prompt: how many top tokens to report
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
        """Read one more chunk and return its number of tokens."""
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
    """The event of a token: its log probability, from (V,), and the most probable tokens."""
    if likeliest is None:
        return Drawn(token)
    values, ids = log_probs.topk(min(likeliest, len(log_probs)))
    top = tuple(zip(ids.tolist(), values.tolist(), strict=True))
    return Drawn(token, float(log_probs[token]), top)
