"""Sentences to hidden vectors: word features, and recurrent layers or a window over them.

Takes `Sentences`, gives (B, T, size); called by the models of tasks. What an encoder gives for a
sentence does not depend on what stands beside it in the batch. A frozen language model may be
handed in, whose mixed layers are further features, and further outputs if that is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from elman.batches.sentences import Sentences
from elman.errors import InputError, choose
from elman.layers.column_features import ColumnFeatures
from elman.layers.contextual import Contextual
from elman.layers.dropout import dropout
from elman.layers.stack import Stack, StackConfig
from elman.layers.word_features import FeatureConfig, WordFeatures

ENCODERS = ("recurrent", "window")


@dataclass(kw_only=True)
class EncoderConfig(FeatureConfig, StackConfig):
    """How sentences are read."""

    encoder: str = "recurrent"  # recurrent: layers of a cell; window: the neighbours of each word
    window: int = 2  # of the encoder window: so many words on either side
    bidirectional: bool = True
    elmo: str = ""  # run folder of a bidirectional language model, whose layers are features
    contextual_output: bool = False  # with a frozen language model: its layers at the output too
    contextual_norm: bool = False  # normalise these layers before they are mixed
    contextual_penalty: float = 0.0  # λ of λ ‖w‖², w being the weights of a mix

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
    """A hidden vector for every word of a sentence."""

    def __init__(
        self,
        config: EncoderConfig,
        counts: torch.Tensor,
        language_model: Any = None,
        columns: ColumnFeatures | None = None,
    ) -> None:
        """`language_model`: a `BidirectionalModel` that is trained already; it stays as it is;
        `columns`: what is known of words beside their spelling.
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
            self.window = nn.Linear((2 * config.window + 1) * self.features.size, self.size)
        else:
            self.stack = Stack(self.features.size, config)
            self.size = self.stack.output_size
        self.size += further if config.contextual_output else 0

    def groups(self) -> list[list[nn.Parameter]]:
        """Its weights from the top down: layers, or a window, then the features of words."""
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
        """What is added to the loss for weights of the mixes that are far from even."""
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
        outputs: torch.Tensor = self.stack(features, lengths=sentences.lengths).outputs
        return outputs


def _neighbours(features: torch.Tensor, real: torch.Tensor, width: int) -> torch.Tensor:
    """The features of each word and of those around it, (B, T, (2 width + 1) · size)."""
    features = features.where(real.unsqueeze(2), 0)
    padded = nn.functional.pad(features, (0, 0, width, width))
    return padded.unfold(1, 2 * width + 1, 1).transpose(2, 3).flatten(2)
