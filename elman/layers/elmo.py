"""ELMo (Peters et al. 2018): word vectors from characters, and a mix of the layers of a model."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import nn

from elman.batches.sentences import Sentences
from elman.errors import InputError
from elman.layers.inputs import Highway
from elman.matrix_products import LinearLayer
from elman.text.spelling import BEGIN, END, NOTHING, SYMBOLS

ELMO_SYMBOLS = 262
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 257, 258, 259, 260, 261
_CARRY = -2.0  # initial bias of a highway gate: at first it carries most of its input


class ElmoCharacters(nn.Module):
    """Vectors of distinct words, from characters: filters, highways, a projection.

        c_1 … c_50                      symbols of a word, as vectors; the rest is padding, learned
        f_j = relu(max_i F_j · [c_i; …; c_{i+w-1}] + b_j)    best match of a filter of width w
        f   ← g ⊙ relu(H f + b) + (1 - g) ⊙ f               g = σ(G f + b_g): a highway layer, twice
        x   = P f + b

    Takes the distinct words of a batch (`Sentences.spelled`), gives their vectors and those of the
    two sentence boundaries. Symbols are the published ones: 0 is the mask; 1 to 256 are bytes; then
    begin and end of sentence, begin and end of word, padding.
    """

    translation: torch.Tensor  # our symbols to those of ELMo
    boundaries: torch.Tensor  # begin and end of sentence, spelled like words

    def __init__(
        self,
        *,
        character_size: int,
        widths: tuple[int, ...],
        filters: tuple[int, ...],
        highways: int,
        projection: int,
        longest: int = 50,
    ) -> None:
        """`filters` of each of the `widths`; a word has `longest` symbols, including its marks."""
        super().__init__()
        check_filters(widths, filters, longest)
        self.widths = widths
        self.longest = longest
        size = sum(filters)
        self.vectors = nn.Embedding(ELMO_SYMBOLS, character_size, padding_idx=0)
        self.filters = nn.ModuleList(
            LinearLayer(width * character_size, count)
            for width, count in zip(widths, filters, strict=True)
        )
        self.highways = nn.ModuleList(Highway(size) for _ in range(highways))
        # As in the published code, equal sizes have no projection.
        self.project = LinearLayer(size, projection) if size != projection else nn.Identity()
        self._initialise()
        translation = torch.arange(SYMBOLS)
        translation[[NOTHING, BEGIN, END]] = torch.tensor([PADDING, BEGIN_WORD, END_WORD])
        self.register_buffer("translation", translation, persistent=False)
        marks = [[BEGIN_WORD, mark, END_WORD] for mark in (BEGIN_SENTENCE, END_SENTENCE)]
        self.register_buffer("boundaries", torch.tensor(marks), persistent=False)

    @torch.no_grad()
    def _initialise(self) -> None:
        """Initialise weights as in the published code."""
        self.vectors.weight[1:].uniform_(-1, 1)
        gates = [highway.gate for highway in self.highways]
        for part in self.modules():
            if isinstance(part, nn.Linear):
                part.weight.normal_(0, part.in_features**-0.5)
                part.bias.fill_(_CARRY if part in gates else 0)
        for part in self.filters:
            part.get_parameter("weight").uniform_(-0.05, 0.05)

    def forward(self, spelled: torch.Tensor) -> torch.Tensor:
        """(N + 2, projection) from words in our symbols (N, L), 0 after the end of each."""
        vectors = self.vectors(self.translate(spelled))
        found = [
            _best_match(vectors, width, filters)
            for width, filters in zip(self.widths, self.filters, strict=True)
        ]
        features = torch.relu(torch.cat(found, dim=1))  # monotone, so it may follow the maximum
        for highway in self.highways:
            features = highway(features)
        return self.project(features)

    def translate(self, spelled: torch.Tensor) -> torch.Tensor:
        """ELMo's symbols of the words and of the two boundaries, (N + 2, at most `longest`).

        Filters over padding alone give the same value everywhere, so most padding is left out.
        """
        symbols = self.translation[spelled[:, : self.longest]]
        if spelled.shape[1] >= self.longest:  # truncated words also get an end mark
            whole = symbols[:, -1] == PADDING
            symbols[:, -1] = torch.where(whole, PADDING, END_WORD)
        seen = max(symbols.shape[1], self.boundaries.shape[1])
        length = min(self.longest, seen + max(self.widths))
        rows = (symbols, self.boundaries)
        padded = [nn.functional.pad(row, (0, length - row.shape[1]), value=PADDING) for row in rows]
        return torch.cat(padded)


def check_filters(widths: tuple[int, ...], filters: tuple[int, ...], longest: int) -> None:
    """Raise if the filters are invalid."""
    if len(widths) != len(filters) or not widths or min(*widths, *filters) < 1:
        raise InputError(
            f"widths={list(widths)}, filters={list(filters)}: as many of each, all at least 1"
        )
    if longest < max(3, *widths):
        raise InputError(f"longest={longest}: must be at least 3 and the widest of widths")


def _best_match(vectors: torch.Tensor, width: int, filters: Any) -> torch.Tensor:
    """The best match of each filter, (N, filters), from vectors (N, L, size)."""
    windows = vectors.unfold(1, width, 1).transpose(2, 3).flatten(2)  # (N, places, width · size)
    return filters(windows).amax(1)


class ScalarMix(nn.Module):
    """A mix of the layers of a frozen model: γ Σ_k softmax(w)_k h_k (Peters et al. 2018).

    A task learns w and γ; the model stays frozen. With `layer_norm`, each layer is normalised
    before mixing, over all real words of a batch at once, as in the code of the paper.
    """

    def __init__(self, layers: int, *, layer_norm: bool = False) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))
        self.layer_norm = layer_norm

    def forward(self, layers: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
        """(K, B, T, size) to (B, T, size); `real` (B, T): words, not padding."""
        if self.layer_norm:
            layers = torch.stack([_normalised(layer, real) for layer in layers])
        shares = self.weights.softmax(0)
        return self.scale * torch.einsum("k,k...->...", shares, layers)


def _normalised(layer: torch.Tensor, real: torch.Tensor | None) -> torch.Tensor:
    """Mean 0, variance 1 over all numbers of all real words."""
    counted = layer if real is None else layer[real]
    deviation = (counted.var(correction=0) + 1e-12).sqrt()
    return (layer - counted.mean()) / deviation


class Contextual(nn.Module):
    """ELMo: contextual word vectors from a frozen language model, mixed for a task.

        sentences ── frozen model ── layers (K, B, T, size) ──┬── mix ── with the input of a task
                                                              └── mix ── with its output, if wanted

    Takes `Sentences`, gives (B, T, size) for every use, each with its own mix (softmax weights and
    a factor, trained by the task). The model is frozen: its weights need no gradient, and it stays
    in evaluation mode while the task trains.
    """

    def __init__(self, model: Any, *, uses: int = 1, layer_norm: bool = False) -> None:
        """`model`: has `layers(sentences)`, their number and size, like `models/bidirectional.py`.

        `uses`: the number of mixes. The model becomes part of this module and is saved with it.
        """
        super().__init__()
        self.model = model.requires_grad_(False).eval()
        self.size: int = model.size
        self.mixes = nn.ModuleList(
            ScalarMix(model.num_layers, layer_norm=layer_norm) for _ in range(uses)
        )

    def train(self, mode: bool = True) -> Self:
        """Train the mixes; keep the model in evaluation mode."""
        super().train(mode)
        self.model.eval()
        return self

    def squares(self) -> torch.Tensor:
        """‖w‖² of the weights of all mixes; zero for equal weights."""
        return torch.stack(
            [mix.get_parameter("weights").square().sum() for mix in self.mixes]
        ).sum()

    def forward(self, sentences: Sentences) -> list[torch.Tensor]:
        """(B, T, size) for every use."""
        if sentences.context is not None:
            layers = sentences.context.movedim(2, 0)
        else:
            with torch.no_grad():
                layers = self.model.layers(sentences)
        real = sentences.real()
        return [mix(layers, real) for mix in self.mixes]
