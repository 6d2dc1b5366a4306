"""ELMo (Peters et al. 2018): word vectors from characters, and layers of a frozen model, mixed."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import nn

from elman.batches.sentences import Sentences
from elman.errors import InputError
from elman.layers.inputs import Highway
from elman.text.word_list import BEGIN, END, NOTHING, SYMBOLS

ELMO_SYMBOLS = 262
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 257, 258, 259, 260, 261
_CARRY = -2.0  # bias of a fresh highway gate: at first nearly all is led around


class ElmoCharacters(nn.Module):
    """Vectors of distinct words, from characters: filters, highways, a projection.

        c_1 … c_50                      symbols of a word, as vectors; the rest is padding, learned
        f_j = relu(max_i F_j · [c_i; …; c_{i+w-1}] + b_j)    where a filter of width w fits best
        f   ← g ⊙ relu(H f + b) + (1 - g) ⊙ f               g = σ(G f + b_g): a highway layer, twice
        x   = P f + b

    Takes the distinct words of a batch (`Sentences.spelled`), gives their vectors and those of the
    two sentence boundaries. Symbols are the published ones: 0 masks; 1 to 256 are bytes; then begin
    and end of sentence, begin and end of word, padding.
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
        """`filters` of each of the `widths`; a word is `longest` symbols, its marks included."""
        super().__init__()
        check_filters(widths, filters, longest)
        self.widths = widths
        self.longest = longest
        size = sum(filters)
        self.vectors = nn.Embedding(ELMO_SYMBOLS, character_size, padding_idx=0)
        self.filters = nn.ModuleList(
            nn.Linear(width * character_size, count)
            for width, count in zip(widths, filters, strict=True)
        )
        self.highways = nn.ModuleList(Highway(size) for _ in range(highways))
        # As in the published code: where the sizes are equal there is nothing to project.
        self.project = nn.Linear(size, projection) if size != projection else nn.Identity()
        self._initialise()
        translation = torch.arange(SYMBOLS)
        translation[[NOTHING, BEGIN, END]] = torch.tensor([PADDING, BEGIN_WORD, END_WORD])
        self.register_buffer("translation", translation, persistent=False)
        marks = [[BEGIN_WORD, mark, END_WORD] for mark in (BEGIN_SENTENCE, END_SENTENCE)]
        self.register_buffer("boundaries", torch.tensor(marks), persistent=False)

    @torch.no_grad()
    def _initialise(self) -> None:
        """As the published code does."""
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
        features = torch.relu(torch.cat(found, dim=1))  # it keeps the order: may come after max
        for highway in self.highways:
            features = highway(features)
        return self.project(features)

    def translate(self, spelled: torch.Tensor) -> torch.Tensor:
        """ELMo's symbols of the words and of the two boundaries, (N + 2, at most `longest`).

        Filters that see padding alone find the same wherever that is, so not all of it is needed.
        """
        symbols = self.translation[spelled[:, : self.longest]]
        if spelled.shape[1] >= self.longest:  # a word that is cut ends there too
            whole = symbols[:, -1] == PADDING
            symbols[:, -1] = torch.where(whole, PADDING, END_WORD)
        seen = max(symbols.shape[1], self.boundaries.shape[1])
        length = min(self.longest, seen + max(self.widths))
        rows = (symbols, self.boundaries)
        padded = [nn.functional.pad(row, (0, length - row.shape[1]), value=PADDING) for row in rows]
        return torch.cat(padded)


def check_filters(widths: tuple[int, ...], filters: tuple[int, ...], longest: int) -> None:
    """Refuse filters that cannot be."""
    if len(widths) != len(filters) or not widths or min(*widths, *filters) < 1:
        raise InputError(
            f"widths={list(widths)}, filters={list(filters)}: as many of each, all at least 1"
        )
    if longest < max(3, *widths):
        raise InputError(f"longest={longest}: must be at least 3 and the widest of widths")


def _best_match(vectors: torch.Tensor, width: int, filters: Any) -> torch.Tensor:
    """How well each filter fits where it fits best, (N, filters), from vectors (N, L, size)."""
    windows = vectors.unfold(1, width, 1).transpose(2, 3).flatten(2)  # (N, places, width · size)
    return filters(windows).amax(1)


class ScalarMix(nn.Module):
    """Layers of a frozen model, mixed: γ Σ_k softmax(w)_k h_k (Peters et al. 2018).

    A task learns w and γ; the model that gave the layers stays as it is. With `layer_norm`, each
    layer is normalised before it is weighed, over all real words of a batch at once, as in the
    paper's code.
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
    """What a frozen language model knows of words in their sentences, mixed for a task (ELMo).

        sentences ── frozen model ── layers (K, B, T, size) ──┬── mix ── with the input of a task
                                                              └── mix ── with its output, if wanted

    Takes `Sentences`, gives (B, T, size) for every place of use, each with a mix of its own
    (softmax weights and a factor, the task's to learn). The model itself is never learned: its
    weights want no gradient, and it is in evaluation mode even while the task trains.
    """

    def __init__(self, model: Any, *, uses: int = 1, layer_norm: bool = False) -> None:
        """`model`: has `layers(sentences)`, their number and size, as `models/bidirectional.py`.

        So many `uses`, so many mixes. It becomes part of this module, and is saved with it.
        """
        super().__init__()
        self.model = model.requires_grad_(False).eval()
        self.size: int = model.size
        self.mixes = nn.ModuleList(
            ScalarMix(model.num_layers, layer_norm=layer_norm) for _ in range(uses)
        )

    def train(self, mode: bool = True) -> Self:
        """The mixes learn; the model does not."""
        super().train(mode)
        self.model.eval()
        return self

    def squares(self) -> torch.Tensor:
        """‖w‖² of the weights of all mixes; zero where all layers count alike."""
        return torch.stack(
            [mix.get_parameter("weights").square().sum() for mix in self.mixes]
        ).sum()

    def forward(self, sentences: Sentences) -> list[torch.Tensor]:
        """(B, T, size) for every use."""
        with torch.no_grad():
            layers = self.model.layers(sentences)
        real = sentences.real()
        return [mix(layers, real) for mix in self.mixes]
