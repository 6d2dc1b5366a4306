"""The syntactical network: a window of words that also shows the heads of the last words.

Reads text with the distance of every head (`text/parsed_text.py`):

    The ←0 dog ←0 saw ←0 a ←0 cat ←2 ___

    words      saw a cat        the last order - 1 words
    heads      saw              the head of the last word, its head, … and those of the words before

An arrow is a token like any other: it is predicted, and only then read. So no prediction sees a
head that comes later, nor the place of an arrow before it was scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from elman.config import at_least
from elman.errors import InputError
from elman.layers.dropout import dropout
from elman.layers.inputs import Material
from elman.matrix_products import LinearLayer
from elman.models.neural import NeuralModel
from elman.models.window import WindowConfig
from elman.state import State
from elman.text.parsed_text import arrow_distance


@dataclass(kw_only=True)
class SyntacticalConfig(WindowConfig):
    """Settings of the syntactical network."""

    tied: bool = False
    context: str = "line"
    hidden_size: int = 100  # units of the hidden layer
    heads: int = 2  # how many of the last words show their heads; 0: a window of words only
    ancestors: int = 2  # of each: its head, the head of its head, …
    reach: int = 40  # tokens that can be seen; a head farther back counts as none

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self.hidden_size, 1, "model.hidden_size")
        at_least(self.heads, 0, "model.heads")
        at_least(self.ancestors, 1, "model.ancestors")
        if self.heads >= self.order:
            raise InputError(
                f"model.heads={self.heads}: the model sees order - 1 = {self.order - 1} words"
            )
        if self.reach < 2 * self.order:
            raise InputError(
                f"model.reach={self.reach}: must be at least {2 * self.order}, for words and arrows"
            )


class Syntactical(NeuralModel):
    """A hidden layer over the last words, the heads of some of them, and the last token.

    x = [e(w_1); …; e(w_n); e(head(w_1)); e(head(head(w_1))); …; e(last token)]
    p = softmax(b + U tanh(d + H x))
    """

    about = "a hidden layer over the last few words and their heads"
    config_class = SyntacticalConfig
    config: SyntacticalConfig

    def __init__(self, config: SyntacticalConfig, material: Material) -> None:
        super().__init__(config, material)
        self.horizon = config.reach
        tokens = material.tokens or [""] * material.vocabulary_size  # to be loaded
        distances = torch.tensor([arrow_distance(token) for token in tokens])
        self.register_buffer("distances", distances)  # (V,) of arrows; -1 for words
        self.nothing = nn.Parameter(torch.zeros(self.input.size))  # in place of a missing head
        self.seen = config.order - 1
        vectors = self.seen + config.heads * config.ancestors + 1
        self.hidden = LinearLayer(vectors * self.input.size, config.hidden_size)
        self.add_output(config.hidden_size)

    distances: torch.Tensor

    def begin_encoding(self, batch_size: int) -> State:
        device = self.counts.device
        return torch.full((batch_size, self.config.reach), self.eos_id, device=device)

    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        known = torch.cat([cast("torch.Tensor", carried), ids], dim=1)  # (B, reach + T)
        windows = known.unfold(1, self.config.reach, 1)[:, 1:]  # (B, T, reach)
        places = self.find_places(windows)  # (B, T, n)
        found = self.input(windows.gather(2, places.clamp(min=0)))  # (B, T, n, size)
        found = torch.where((places >= 0)[..., None], found, self.nothing)
        given = dropout(found.flatten(2), self.config.dropout, self.training)
        hidden = dropout(torch.tanh(self.hidden(given)), self.config.dropout, self.training)
        return hidden, known[:, ids.shape[1] :], 0.0

    def find_places(self, windows: torch.Tensor) -> torch.Tensor:
        """The places in each window, (B, T, reach), of the words and heads that the network sees,
        and of the last token; -1 for a head that is unknown, (B, T, n).
        """
        distances = self.distances[windows]
        is_word = distances < 0
        back = is_word.flip(2).cumsum(2).flip(2)  # how many words from here on
        words = [_place_of(is_word & (back == number)) for number in range(1, self.seen + 1)]
        ends = windows == self.eos_id
        # Number the lines within each window; line ends belong to no line.
        lines = torch.where(ends, -1, ends.cumsum(2))
        found = [*words]
        for place in words[: self.config.heads]:
            for _ in range(self.config.ancestors):
                place = self._head(place, distances, lines)
                found.append(place)
        return torch.stack([*found, torch.full_like(words[0], windows.shape[2] - 1)], dim=2)

    def _head(
        self, place: torch.Tensor, distances: torch.Tensor, lines: torch.Tensor
    ) -> torch.Tensor:
        """The place of the head of the word at a place, (B, T); -1 if it is not known yet."""
        last = distances.shape[2] - 1
        arrow = _at(distances, (place + 1).clamp(max=last))
        head = place - 2 * arrow  # a word and an arrow for each step
        known = (place >= 0) & (place < last) & (arrow > 0) & (head >= 0)
        head = head.clamp(0, last)
        same_line = _at(lines, head) == _at(lines, place.clamp(min=0))
        return torch.where(known & (_at(distances, head) < 0) & same_line, head, -1)

    def describe(self) -> dict[str, Any]:
        config = self.config
        return {
            "model": "syntactical",
            "order": config.order,
            "heads": config.heads,
            "hidden_size": config.hidden_size,
        } | super().describe()


def _place_of(mask: torch.Tensor) -> torch.Tensor:
    """The place of the only true value of each row, (B, T, reach) -> (B, T); -1 without one."""
    return torch.where(mask.any(2), mask.int().argmax(2), -1)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return values.gather(2, places[..., None])[..., 0]
