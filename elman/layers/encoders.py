"""Encoders: turn sentences into hidden vectors, and sources into the input of a decoder.

Called by the models of tasks. The result of a row does not depend on the other rows of the batch.
For a `Source`, an encoder gives values (B, S, size) and a summary (B, size):

    ids      ── word vectors ── recurrent layers ── values h_1 … h_S,   summary [→h_S; ←h_1]
    vectors  ── a linear map, tanh ──────────────── values,             summary: their mean
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from elman.batches.sentences import Sentences
from elman.batches.sources import Source
from elman.cells.engine import real_tokens
from elman.errors import InputError, choose
from elman.layers.dropout import dropout
from elman.layers.elmo import Contextual
from elman.layers.stack import Stack, StackConfig
from elman.layers.word_features import ColumnFeatures, FeatureConfig, WordFeatures
from elman.matrix_products import LinearLayer

ENCODERS = ("recurrent", "window")


@dataclass(kw_only=True)
class EncoderConfig(FeatureConfig, StackConfig):
    """Settings of the encoder of sentences."""

    encoder: str = "recurrent"  # recurrent: recurrent layers; window: the neighbours of each word
    window: int = 2  # for encoder=window: words on each side
    bidirectional: bool = True
    elmo: str = ""  # run folder of a bidirectional language model, whose layers are features
    contextual_output: bool = False  # add the layers of the frozen language model at the output too
    contextual_norm: bool = False  # normalise these layers before they are mixed
    contextual_penalty: float = 0.0  # λ of the penalty λ ‖w‖² on the weights w of a mix

    def __post_init__(self) -> None:
        StackConfig.__post_init__(self)
        FeatureConfig.check(self)
        choose(dict.fromkeys(ENCODERS), self.encoder, "encoder")
        if self.window < 0:
            raise InputError(f"model.window={self.window}: must not be negative")
        if not self.contextual_penalty >= 0:
            value = self.contextual_penalty
            raise InputError(f"model.contextual_penalty={value}: must not be negative")


class SentenceEncoder(nn.Module):
    """Word features with recurrent layers or a window over them: a hidden vector for every word.

    Takes `Sentences`, gives (B, T, size). The mixed layers of a frozen language model can be
    further features, and further outputs too.
    """

    def __init__(
        self,
        config: EncoderConfig,
        counts: torch.Tensor,
        language_model: Any = None,
        columns: ColumnFeatures | None = None,
    ) -> None:
        """`language_model`: a trained `BidirectionalModel`, which stays frozen;
        `columns`: further columns of the data, such as parts of speech.
        """
        super().__init__()
        self.config = config
        self.contextual = None
        if language_model is not None:
            uses = 2 if config.contextual_output else 1
            norm = config.contextual_norm
            self.contextual = Contextual(language_model, uses=uses, layer_norm=norm)
        elif config.contextual_output:
            raise InputError(
                "model.contextual_output=true: name a language model, as in model.elmo=RUN"
            )
        further = 0 if self.contextual is None else self.contextual.size
        self.features = WordFeatures(counts, config, contextual_size=further, columns=columns)
        self.window = self.stack = None
        if config.encoder == "window":
            self.size = config.sizes()[-1]
            self.window = LinearLayer((2 * config.window + 1) * self.features.size, self.size)
        else:
            self.stack = Stack(self.features.size, config)
            self.size = self.stack.output_size
        self.size += further if config.contextual_output else 0

    def groups(self) -> list[list[nn.Parameter]]:
        """Groups of weights from the top down: layers or a window, then the word features."""
        layers = [] if self.stack is None else [*cast("nn.ModuleList", self.stack.layers)]
        groups = [[*layer.parameters()] for layer in reversed(layers)]
        if self.window is not None:
            groups.append([*self.window.parameters()])
        above = {id(parameter) for group in groups for parameter in group}
        return [*groups, [p for p in self.parameters() if id(p) not in above]]

    def forward(self, sentences: Sentences) -> torch.Tensor:
        """(B, T, size)."""
        if self.contextual is None:
            return self._encode(sentences, self.features(sentences))
        first, *others = self.contextual(sentences)
        hidden = self._encode(sentences, self.features(sentences, first))
        dropped = [dropout(part, self.config.dropout_output, self.training) for part in others]
        return torch.cat([hidden, *dropped], dim=2)

    def penalty(self) -> torch.Tensor | float:
        """The penalty on mixes with unequal weights, added to the loss."""
        if self.contextual is None or not self.config.contextual_penalty:
            return 0.0
        return self.config.contextual_penalty * self.contextual.squares()

    def _encode(self, sentences: Sentences, features: torch.Tensor) -> torch.Tensor:
        """Layers or a window over the features."""
        features = dropout(features, self.config.dropout_features, self.training)
        if self.window is not None:
            neighbours = _neighbours(features, sentences.real(), self.config.window)
            hidden = torch.tanh(self.window(neighbours))
            return dropout(hidden, self.config.dropout_output, self.training)
        assert self.stack is not None
        return self.stack(features, lengths=sentences.lengths).outputs


def _neighbours(features: torch.Tensor, real: torch.Tensor, width: int) -> torch.Tensor:
    """The features of each word and of those around it, (B, T, (2 width + 1) · size)."""
    features = features.where(real.unsqueeze(2), 0)
    padded = nn.functional.pad(features, (0, 0, width, width))
    return padded.unfold(1, 2 * width + 1, 1).transpose(2, 3).flatten(2)


class TextEncoder(nn.Module):
    """Recurrent layers over the words of a source."""

    def __init__(self, input_size: int, config: StackConfig) -> None:
        super().__init__()
        self.stack = Stack(input_size, config)
        self.size = self.stack.output_size
        # The last numbers of an output come from the right-to-left direction.
        self.backward_size = config.sizes()[-1] if config.bidirectional else 0
        if self.backward_size:
            self.backward_size = self.stack.layers[-1].directions[1].output_size

    def forward(
        self, source: Source, embed: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Values and summary; `embed` gives vectors (B, S, input_size) of ids."""
        assert source.ids is not None, "this model needs text sources"
        run = self.stack(embed(source.ids), lengths=source.lengths, outputs_only=True)
        values: torch.Tensor = run.outputs
        raw = run.raw_outputs
        last = raw[torch.arange(len(raw), device=raw.device), source.lengths - 1]
        if not self.backward_size:
            return values, last
        onward = self.size - self.backward_size
        return values, torch.cat([last[:, :onward], raw[:, 0, onward:]], dim=1)


class VectorEncoder(nn.Module):
    """A linear map of given vectors."""

    def __init__(self, features: int, size: int, dropout: float) -> None:
        super().__init__()
        self.features, self.size, self.dropout = features, size, dropout
        self.map = LinearLayer(features, size)

    def forward(
        self, source: Source, embed: Callable[[torch.Tensor], torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Values and summary; there is nothing to embed."""
        assert source.vectors is not None, "this model needs vector sources"
        values = torch.tanh(self.map(source.vectors.to(self.map.weight)))
        values = values * real_tokens(values, source.lengths).unsqueeze(2)
        mean = values.sum(1) / source.lengths.unsqueeze(1)
        return dropout(values, self.dropout, self.training), mean
