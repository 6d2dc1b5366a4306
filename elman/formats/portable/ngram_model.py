"""N-gram models, with the methods of `language_models.py`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

_NOTHING = -1  # before the first word


class Counted(nn.Module):
    """An n-gram model in back-off form: the hidden vector of a position is its context."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vocabulary_size, self.eos_id = settings["vocabulary_size"], settings["eos_id"]
        self.order = len(settings["ngrams"])
        self.seen = max(self.order - 1, 1)
        for order, count in enumerate(settings["ngrams"], start=1):
            floats = nn.Parameter(torch.zeros(count), requires_grad=False)
            self.register_parameter(f"log_probs{order}", floats)
            if order < self.order:
                weights = nn.Parameter(torch.zeros(count), requires_grad=False)
                self.register_parameter(f"log_backoffs{order}", weights)
                self.register_buffer(f"children{order}", torch.zeros(count + 1, dtype=torch.long))
            if order > 1:
                self.register_buffer(f"words{order}", torch.zeros(count, dtype=torch.long))

    def begin(self, batch_size: int) -> list[torch.Tensor]:
        device = self.log_probs1.device
        return [torch.full((batch_size, self.seen), _NOTHING, device=device)]

    def read(
        self, ids: torch.Tensor, state: list[torch.Tensor], real: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        if real is not None:  # a text after padding begins with one `<eos>`
            begins = real[:, 1:] & ~real[:, :-1] & (ids[:, 1:] != self.eos_id)
            begins = torch.cat([begins, torch.zeros_like(real[:, :1])], dim=1)
            ids = ids.where(real, _NOTHING).masked_fill(begins, self.eos_id)
        known = torch.cat([state[0], ids], dim=1)
        places = torch.arange(ids.shape[1], device=ids.device)[:, None]
        contexts = known[:, places + torch.arange(1, self.seen + 1, device=ids.device)]
        return contexts, [known[:, ids.shape[1] :]]

    def scores(self, hidden: torch.Tensor) -> torch.Tensor:
        """(B, T, V) log probabilities after contexts (B, T, order - 1)."""
        contexts = hidden.flatten(0, 1)
        scores = self.log_probs1.repeat(len(contexts), 1)
        for order in range(2, self.order + 1):
            numbers = self._find(contexts[:, contexts.shape[1] - order + 1 :])
            known = numbers >= 0
            backoffs = getattr(self, f"log_backoffs{order - 1}")[numbers.clamp(min=0)]
            scores = scores + backoffs.where(known, 0)[:, None]
            rows, entries = self._followers(order, numbers)
            scores[rows, getattr(self, f"words{order}")[entries]] = getattr(
                self, f"log_probs{order}"
            )[entries]
        return scores.view(*hidden.shape[:2], -1)

    def _find(self, words: torch.Tensor) -> torch.Tensor:
        """The numbers of the n-grams (N, k), or -1 where they are not stored."""
        numbers = words[:, 0]
        for order in range(2, words.shape[1] + 1):
            bounds, stored = getattr(self, f"children{order - 1}"), getattr(self, f"words{order}")
            word = words[:, order - 1]
            low, high = bounds[numbers.clamp(min=0)], bounds[numbers.clamp(min=0) + 1]
            end = high
            while bool((low < high).any()):  # a binary search among the followers of each prefix
                middle = (low + high) // 2
                smaller = (low < high) & (stored[middle.clamp(max=len(stored) - 1)] < word)
                low, high = (
                    torch.where(smaller, middle + 1, low),
                    torch.where(smaller, high, middle),
                )
            place = low.clamp(max=max(len(stored) - 1, 0))
            found = (low < end) & (numbers >= 0) & (word >= 0)
            if len(stored):
                found = found & (stored[place] == word)
            numbers = torch.where(found, low, -1)
        return numbers

    def _followers(self, order: int, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All n-grams of an order that extend these contexts: their row and their number."""
        bounds = getattr(self, f"children{order - 1}")
        rows = (numbers >= 0).nonzero().squeeze(1)
        starts = bounds[numbers[rows]]
        lengths = bounds[numbers[rows] + 1] - starts
        offsets = torch.arange(int(lengths.sum()), device=rows.device)
        offsets = offsets - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        return rows.repeat_interleave(lengths), starts.repeat_interleave(lengths) + offsets
