"""Reset the state at the start of each document.

Caches and adapted weights help within a document and hurt in the next one. A document ends

    at a blank line                          documents
    after a number of lines                  documents:lines=1
    before a line that begins with a word    documents:mark==

A state is the state of the model and, for each row (B,), the number of lines read in the document
and the previous id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch

from elman.adapters import FitContext
from elman.adapters.wrapper import Wrapper
from elman.errors import InputError
from elman.models.contract import LanguageModel
from elman.state import State, replace_rows

ABOUT = "resets the state when a document ends"


@dataclass(kw_only=True)
class Config:
    """Where documents end; the default is a blank line."""

    lines: int = 0  # end after this many lines; 0: do not count lines
    mark: str = ""  # end before a line that begins with this token

    def __post_init__(self) -> None:
        if self.lines < 0:
            raise InputError(f"documents: lines={self.lines} must not be negative")
        if self.lines and self.mark:
            raise InputError("documents: give lines or a mark, not both")


def wrap(model: LanguageModel, config: Config, around: FitContext) -> Documents:
    """Make the model forget when a document ends."""
    mark = around.token_id(config.mark) if config.mark else None
    return Documents(model, around.eos_id, config, mark)


class Documents(Wrapper):
    """A model that starts each document from a fresh state."""

    def __init__(self, model: LanguageModel, eos_id: int, config: Config, mark: int | None) -> None:
        super().__init__(model)
        self.horizon = None
        self.eos_id = eos_id
        self.config = config
        self.mark = mark

    def start(self, batch_size: int, source: Any = None) -> State:
        before = torch.full((batch_size,), self.eos_id)
        return self.model.start(batch_size, source), torch.zeros_like(before), before

    def predict(self, state: State) -> torch.Tensor:
        return self.model.predict(state[0])

    def vector(self, state: State) -> torch.Tensor:
        return self.model.vector(state[0])

    def attention(self, state: State) -> tuple[torch.Tensor, torch.Tensor]:
        return self.model.attention(state[0])

    def read(self, ids: torch.Tensor, state: State) -> State:
        return self._go(lambda piece, inner: (self.model.read(piece, inner),), ids, state)[-1]

    def score(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        return self._go(self.model.score, ids, state)

    def predict_all(self, ids: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        return self._go(self.model.predict_all, ids, state)

    def score_and_vectors(
        self, ids: torch.Tensor, state: State
    ) -> tuple[torch.Tensor, torch.Tensor, State]:
        return self._go(self.model.score_and_vectors, ids, state)

    def _go(self, act: Callable[..., Any], ids: torch.Tensor, state: State) -> Any:
        """Apply the model piece by piece, with a fresh state after each end of a document."""
        inner, lines, before = cast("tuple[State, torch.Tensor, torch.Tensor]", state)
        ends, lines, after = self._ends(ids, lines, before)
        last = ids.shape[1]
        cuts = [0, *[t + 1 for t in ends.any(0).nonzero().flatten().tolist()], last]
        results = []
        for begin, end in pairwise(cuts if cuts[-2] != last or last == 0 else cuts[:-1]):
            *values, inner = act(ids[:, begin:end], inner)
            results.append(values)
            if end and ends[:, end - 1].any():
                inner = replace_rows(ends[:, end - 1], self._fresh(ids[:, end - 1 : end]), inner)
        joined = [torch.cat(pieces, dim=1) for pieces in zip(*results, strict=True)]
        return *joined, (inner, lines, after)

    def _ends(
        self, ids: torch.Tensor, lines: torch.Tensor, before: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """After which ids (B, T) the model forgets; then the lines read so far and the last id."""
        earlier = torch.cat([before[:, None], ids], dim=1)
        line_ends = ids == self.eos_id
        counted = lines[:, None] + line_ends.cumsum(1)
        if self.mark is not None:
            ends = (ids == self.mark) & (earlier[:, :-1] == self.eos_id)
        elif self.config.lines:
            ends = line_ends & (counted % self.config.lines == 0)
        else:
            ends = line_ends & (earlier[:, :-1] == self.eos_id)
        return ends, torch.cat([lines[:, None], counted], dim=1)[:, -1], earlier[:, -1]

    def _fresh(self, ids: torch.Tensor) -> State:
        """The state at the start of a document: nothing read, or only its mark."""
        start = self.model.start(len(ids))
        return start if self.mark is None else self.model.read(ids, start)

    def settings(self) -> dict[str, Any]:
        return {"lines": self.config.lines} if self.config.lines else {"mark": self.config.mark}
