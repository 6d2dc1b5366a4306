"""Neural language models: recurrent, feed-forward and log-bilinear.

state          = model.begin(batch_size)       a list of tensors, batch first
hidden, state  = model.read(ids, state)        (B, T) ids, (B, T, size) hidden vectors
scores         = model.scores(hidden)          (B, T, V) log probabilities, up to a constant
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.portable.layers import Stack
from elman.formats.portable.outputs import OUTPUTS


class Recurring(nn.Module):
    """A stack of recurrent layers between word vectors and an output."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = size = settings["vocabulary_size"]
        self.eos_id, self.resets = settings["eos_id"], settings["resets_at_lines"]
        self.input = nn.Embedding(size, settings["input_size"])
        self.stack = Stack(settings["layers"])
        self.output = OUTPUTS[settings["output"]["kind"]](settings["output"], size)

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        """The state before any token, `<eos>` included."""
        return self.stack.begin(batch_size)

    def read(
        self, ids: torch.Tensor, state: list[torch.Tensor], real: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """`real` (B, T): tokens that are no padding."""
        fresh = ids == self.eos_id if self.resets else None
        if fresh is not None and real is not None:
            fresh = fresh & real
        hidden, after = self.stack(self.input(ids), state, real, fresh)
        return hidden, after

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.output(hidden, self.input.weight)
        return scores


class Window(nn.Module):
    """A fixed window of words: feed-forward or log-bilinear."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size = size = settings["vocabulary_size"]
        self.seen = settings["seen"]
        self.eos_id, self.resets = settings["eos_id"], settings["resets_at_lines"]
        self.input = nn.Embedding(size, settings["input_size"])
        self.direct, self.diagonal = settings["direct"], settings["diagonal"]
        if settings["hidden"]:
            self.hidden = nn.Linear(self.seen * settings["input_size"], settings["hidden"])
            self.places = None
        else:
            self.places = nn.Parameter(torch.zeros(settings["places"]))
        self.output = OUTPUTS[settings["output"]["kind"]](settings["output"], size)

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        device = self.input.weight.device
        return [torch.full((batch_size, self.seen), self.eos_id, device=device)]

    def read(
        self, ids: torch.Tensor, state: list[torch.Tensor], real: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        if real is not None:  # padding before a text reads as the start of a line
            ids = ids.where(real, self.eos_id)
        known = torch.cat([state[0], ids], dim=1)
        places = torch.arange(ids.shape[1], device=ids.device)[:, None]
        windows = known[:, places + torch.arange(1, self.seen + 1, device=ids.device)]
        if self.resets:  # nothing before the last line end is seen
            ends = (windows == self.eos_id).flip(2).cumsum(2).flip(2) > 0
            windows = windows.masked_fill(ends, self.eos_id)
        vectors = self.input(windows)  # (B, T, n, size)
        return self._features(vectors), [known[:, ids.shape[1] :]]

    def _features(self, vectors: torch.Tensor) -> torch.Tensor:
        words = vectors.flatten(2)
        if self.places is None:
            hidden = torch.tanh(self.hidden(words))
            return torch.cat([hidden, words], dim=-1) if self.direct else hidden
        if self.diagonal:  # one weight per dimension and position
            return (vectors * self.places).sum(2)
        return words @ self.places.t()

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.output(hidden, self.input.weight)
        return scores
