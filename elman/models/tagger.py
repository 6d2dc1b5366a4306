"""Sequence tagging: an encoder of words and an output over tags.

    sentences ── word features ── encoder ── hidden (B, T, size) ── scores (B, T, K) ── tags

With a bidirectional LSTM, characters and a CRF it is the tagger of Lample et al. (2016) and Ma and
Hovy (2016); with the encoder `window` that of Collobert et al. (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from elman.batches.sentences import ExampleBatch, Sentences
from elman.config import at_least
from elman.layers.encoders import EncoderConfig, SentenceEncoder
from elman.layers.tag_outputs import TAG_OUTPUTS
from elman.layers.word_features import ColumnFeatures
from elman.models.contract import Loss
from elman.models.sentence_model import SentenceModel
from elman.text.task_config import TaggedConfig


@dataclass(kw_only=True)
class TaggerConfig(EncoderConfig):
    """A tagger."""

    output: str = "crf"  # elman list tag-outputs
    feature_size: int = 25  # size of each feature vector; one feature per column of text.features

    def __post_init__(self) -> None:
        super().__post_init__()
        TAG_OUTPUTS.check(self.output)
        at_least(self.feature_size, 1, "model.feature_size")


class Tagger(SentenceModel):
    """Predict a tag for every word of a sentence."""

    about: ClassVar[str] = "predicts a tag for every word of a sentence"
    task: ClassVar[str] = "tagging"
    text_class: ClassVar[type] = TaggedConfig
    config_class: ClassVar[type] = TaggerConfig

    def __init__(
        self,
        config: TaggerConfig,
        counts: torch.Tensor,
        tags: int,
        language_model: Any = None,
        columns: Sequence[torch.Tensor] = (),
    ) -> None:
        """`language_model`: a trained `BidirectionalModel` whose layers are word features;
        `columns`: for each further column, the counts of its values in the training data.
        """
        super().__init__()
        self.config = config
        beside = None
        if columns:
            beside = ColumnFeatures(columns, config.feature_size, config.unknown_rate)
        self.encoder = SentenceEncoder(config, counts, language_model, beside)
        self.scores = nn.Linear(self.encoder.size, tags)
        self.output = TAG_OUTPUTS[config.output](tags)

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct tags."""
        (sentences,) = batch.inputs
        nats = self.output.loss(self._score(sentences), batch.targets, sentences.lengths)
        return Loss(nats, batch.tokens, self.encoder.penalty()), ()

    def errors(self, batch: ExampleBatch) -> int:
        """The number of wrong tags."""
        (sentences,) = batch.inputs
        wrong = (self.best(sentences) != batch.targets) & sentences.real()
        return int(wrong.sum())

    @torch.no_grad()
    def best(self, sentences: Sentences) -> torch.Tensor:
        """The most probable tags, (B, T)."""
        return self.output.best(self._score(sentences), sentences.lengths)

    def _score(self, sentences: Sentences) -> torch.Tensor:
        return self.scores(self.encoder(sentences))
