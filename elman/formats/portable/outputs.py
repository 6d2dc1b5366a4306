"""Output layers: scores of all words from a hidden vector."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Softmax(nn.Module):
    """p(w) ∝ exp(W_w · h + b_w); W may be the table of word vectors."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__()
        size = settings["size"]
        self.project = nn.Linear(settings["hidden_size"], size) if settings["projects"] else None
        tied = settings["tied"]
        self.weight = None if tied else nn.Parameter(torch.zeros(vocabulary_size, size))
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        hidden = hidden if self.project is None else self.project(hidden)
        return hidden @ (table if self.weight is None else self.weight).t() + self.bias


class Mixture(Softmax):
    """A mixture of softmaxes, weighted by the context."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.experts = settings["experts"]
        self.latent = nn.Linear(settings["hidden_size"], self.experts * settings["size"])
        self.prior = nn.Linear(settings["hidden_size"], self.experts, bias=False)

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        prior = self.prior(hidden).log_softmax(-1)
        each = torch.tanh(self.latent(hidden)).chunk(self.experts, dim=-1)
        mixed = [
            super(Mixture, self).forward(latent, table).log_softmax(-1) + prior[..., k, None]
            for k, latent in enumerate(each)
        ]
        return torch.stack(mixed).logsumexp(0)


class Adaptive(nn.Module):
    """Frequent words at full size, rare ones in clusters of smaller vectors."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__()
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            settings["hidden_size"], vocabulary_size, settings["cutoffs"], settings["shrink"]
        )
        self.register_buffer("rank", torch.zeros(vocabulary_size, dtype=torch.long))

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        scores = self.softmax.log_prob(hidden.flatten(0, -2))[:, self.rank]
        return scores.view(*hidden.shape[:-1], -1)


class Classes(Softmax):
    """First the class of a word, then the word in its class."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.sizes = settings["class_sizes"]
        self.class_weight = nn.Parameter(torch.zeros(len(self.sizes), settings["size"]))
        self.class_bias = nn.Parameter(torch.zeros(len(self.sizes)))
        self.register_buffer("members", torch.zeros(vocabulary_size, dtype=torch.long))
        self.register_buffer("places", torch.zeros(vocabulary_size, dtype=torch.long))

    def forward(self, hidden: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        words = super().forward(hidden, table)[..., self.members]
        hidden = hidden if self.project is None else self.project(hidden)
        classes = (hidden @ self.class_weight.t() + self.class_bias).log_softmax(-1)
        parts = [
            part.log_softmax(-1) + classes[..., number, None]
            for number, part in enumerate(words.split(self.sizes, dim=-1))
        ]
        return torch.cat(parts, dim=-1)[..., self.places]


class Copying(Softmax):
    """Probabilities of the vocabulary, mixed with copies of the words of a source."""

    def __init__(self, settings: dict[str, Any], vocabulary_size: int) -> None:
        super().__init__(settings, vocabulary_size)
        self.further = settings["further"]
        self.gate = nn.Linear(settings["size"], 1)

    def mix(
        self,
        hidden: torch.Tensor,
        table: torch.Tensor,
        weights: torch.Tensor,
        places: torch.Tensor,
    ) -> torch.Tensor:
        """Log probabilities (B, V + further) of hidden vectors (B, size)."""
        projected = hidden if self.project is None else self.project(hidden)
        gate = torch.sigmoid(self.gate(projected))
        own = gate * self(hidden, table).softmax(-1)
        mixed = nn.functional.pad(own, (0, self.further))
        mixed = mixed.scatter_add(1, places, (1 - gate) * weights)
        return mixed.clamp(min=torch.finfo(mixed.dtype).tiny).log()


OUTPUTS = {
    "softmax": Softmax,
    "mixture": Mixture,
    "adaptive": Adaptive,
    "classes": Classes,
    "copying": Copying,
}
