"""A prompt while it is read, before anything is written from it.

Takes a `Work`, gives the state after its prompt and, if they are wanted, the log probabilities of
its tokens; called by `batching.py`, which lets others be served between two chunks.
"""

from __future__ import annotations

import torch

from elman.models.contract import LanguageModel
from elman.state import State
from elman.studio.rows import Drawn, Work

_CHUNK = 128  # tokens that are read at once; always the same, so that bits are too


class PromptReading:
    """A prompt while it is read, chunk by chunk."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.state: State | None = None
        self.scored: list[Drawn] = []
        self._next = 0

    @property
    def is_done(self) -> bool:
        """Whether all of it was read."""
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
