"""Vectors of words from their characters.

Words come as symbols (N, L): begin, the bytes of UTF-8 plus one, end, then zeros.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from elman.formats.portable.layers import Stack
from elman.layers.hashing import affixes, into_table, shapes
from elman.text.spelling import SYMBOLS

_LONGEST_AFFIX = 4  # bytes


def is_exporting() -> bool:
    """Whether torch is writing a graph, which must not depend on the values of tensors."""
    return getattr(torch.compiler, "is_exporting", lambda: False)()


def shortened(characters: torch.Tensor) -> torch.Tensor:
    """Symbols (B, T, L) without the columns that no word uses; a graph keeps them all."""
    if is_exporting():
        return nn.functional.pad(characters, (0, 5))  # as wide as the widest n-gram
    used = int((characters != 0).sum(2).max()) if characters.numel() else 0
    return characters[:, :, : max(used, 2)]


class CharacterFilters(nn.Module):
    """Filters over three characters and the best match of each."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        size = settings["character_size"]
        self.vectors = nn.Embedding(SYMBOLS, size, padding_idx=0)
        self.filters = nn.Linear(3 * size, settings["size"])

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        around = nn.functional.pad(self.vectors(spelled), (0, 0, 1, 1))
        windows = torch.cat([around[:, k : k + spelled.shape[1]] for k in range(3)], dim=2)
        matches = self.filters(windows).masked_fill((spelled == 0).unsqueeze(2), -torch.inf)
        return torch.tanh(matches.amax(1))


class CharactersAndAffixes(CharacterFilters):
    """Filters, and vectors of prefixes, suffixes and the shape of the word."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.affix_vectors = nn.Embedding(settings["affixes"], settings["size"])

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        numbers, there = affixes(spelled, _LONGEST_AFFIX)
        numbers = torch.cat([numbers, shapes(spelled).unsqueeze(1)], dim=1)
        there = torch.cat([there, torch.ones_like(there[:, :1])], dim=1)
        vectors = self.affix_vectors(into_table(numbers, self.affix_vectors.num_embeddings))
        return torch.cat([super().forward(spelled), (vectors * there.unsqueeze(2)).sum(1)], dim=1)


class RecurrentSpelling(nn.Module):
    """The last states of a bidirectional LSTM over the characters."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.vectors = nn.Embedding(SYMBOLS, settings["character_size"], padding_idx=0)
        self.stack = Stack(settings["layers"])

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        real = spelled != 0
        begun = self.stack.begin(spelled.shape[0])
        outputs, _ = self.stack(self.vectors(spelled), begun, real)
        half = outputs.shape[2] // 2
        last = (real.sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, half)
        onward = outputs[:, :, :half].gather(1, last).squeeze(1)
        return torch.cat([onward, outputs[:, 0, half:]], dim=1)


SPELLINGS = {
    "cnn": CharacterFilters,
    "affixes": CharactersAndAffixes,
    "rnn": RecurrentSpelling,
}
