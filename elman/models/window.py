"""Models of a fixed window of words: the feed-forward and the log-bilinear language model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from elman.config import at_least
from elman.errors import InputError
from elman.layers.dropout import check_rate, dropout
from elman.layers.inputs import Material
from elman.matrix_products import LinearLayer
from elman.models.network import NeuralConfig
from elman.models.neural import NeuralModel
from elman.state import State


@dataclass(kw_only=True)
class WindowConfig(NeuralConfig):
    """Settings of models with a fixed window of words."""

    order: int = 5  # n: the model sees the last n - 1 words
    dropout: float = 0.0  # dropout before the softmax and before the hidden layer, if any

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.dropout)
        if self.order < 2:
            raise InputError(f"model.order={self.order}: must be at least 2, to see one word")


class WindowModel(NeuralModel):
    """Base class of models that see the last `order` - 1 words."""

    config: WindowConfig

    def __init__(self, config: WindowConfig, material: Material) -> None:
        super().__init__(config, material)
        self.horizon = self.seen = config.order - 1

    @abstractmethod
    def features(self, words: torch.Tensor) -> torch.Tensor:
        """A hidden vector (B, T, size) from the word vectors of each window, (B, T, n · size)."""

    def begin_encoding(self, batch_size: int) -> State:
        device = self.counts.device
        return torch.full((batch_size, self.seen), self.eos_id, device=device)

    def encode(
        self, ids: torch.Tensor, carried: State, lengths: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, State, torch.Tensor | float]:
        # Drop the oldest carried word: the new ids take its place.
        known = torch.cat([cast("torch.Tensor", carried)[:, 1:], ids], dim=1)
        vectors = self.input(known).unfold(1, self.seen, 1)  # (B, T, size, n)
        windows = vectors.transpose(2, 3).flatten(2)
        carried = torch.cat([cast("torch.Tensor", carried), ids], dim=1)
        return self.features(windows), carried[:, ids.shape[1] :], 0.0

    def describe(self) -> dict[str, Any]:
        return {"order": self.config.order, **super().describe()}


@dataclass(kw_only=True)
class FeedForwardConfig(WindowConfig):
    """Settings of the feed-forward language model."""

    tied: bool = False
    hidden_size: int = 100  # units of the hidden layer
    direct: bool = False  # connections from word vectors straight to the output

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self.hidden_size, 1, "model.hidden_size")
        if self.direct and self.tied:
            raise InputError(
                "model.direct=true: the output exceeds the word vectors; set model.tied=false"
            )


class FeedForward(WindowModel):
    """The feed-forward language model (Bengio et al. 2003): a hidden layer over a window of words.

    x = [e_1; …; e_n]                      word vectors of the last n words
    h = tanh(d + H x)
    y = b + U h (+ W x)                    W: direct connections, optional
    p = softmax(y)
    """

    about = "a hidden layer over the last few words (Bengio et al. 2003)"
    config_class = FeedForwardConfig
    config: FeedForwardConfig

    def __init__(self, config: FeedForwardConfig, material: Material) -> None:
        super().__init__(config, material)
        seen = self.seen * self.input.size
        self.hidden = LinearLayer(seen, config.hidden_size)
        # U h + W x is one product with [h; x].
        self.add_output(config.hidden_size + (seen if config.direct else 0))

    def features(self, words: torch.Tensor) -> torch.Tensor:
        words = dropout(words, self.config.dropout, self.training)
        hidden = dropout(torch.tanh(self.hidden(words)), self.config.dropout, self.training)
        return torch.cat([hidden, words], dim=-1) if self.config.direct else hidden

    def describe(self) -> dict[str, Any]:
        return {
            "model": "feed-forward",
            "hidden_size": self.config.hidden_size,
        } | super().describe()


@dataclass(kw_only=True)
class LogBilinearConfig(WindowConfig):
    """Settings of the log-bilinear language model."""

    embedding_size: int = 100
    order: int = 6
    diagonal: bool = False  # one weight per dimension and position instead of a matrix per position


class LogBilinear(WindowModel):
    """The log-bilinear language model (Mnih and Hinton 2007): a window without a hidden layer.

        r̂ = Σ_i C_i r_{w_i}                    the vector of the next word, from those of the last n
        p(w) ∝ exp(r̂ · r_w + b_w)              similarity to the vector of each word

    The C_i are matrices, or with `diagonal` vectors, which have far fewer parameters.
    """

    about = "predicts the next word vector from the last few (Mnih and Hinton 2007)"
    config_class = LogBilinearConfig
    config: LogBilinearConfig

    def __init__(self, config: LogBilinearConfig, material: Material) -> None:
        super().__init__(config, material)
        size, seen = self.input.size, self.seen
        if config.diagonal:
            self.places = nn.Parameter(torch.full((seen, size), 1 / seen))
        else:
            eye = torch.eye(size).repeat(1, seen) / seen
            self.places = nn.Parameter(eye)  # (size, n · size): the C_i side by side
        self.add_output(size)

    def features(self, words: torch.Tensor) -> torch.Tensor:
        config = self.config
        if config.diagonal:
            windows = words.view(*words.shape[:2], self.seen, self.input.size)
            predicted = torch.einsum("btnd,nd->btd", windows, self.places)
        else:
            predicted = words @ self.places.t()
        return dropout(predicted, config.dropout, self.training)

    def describe(self) -> dict[str, Any]:
        return {"model": "log-bilinear", "diagonal": self.config.diagonal} | super().describe()
