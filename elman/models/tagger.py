"""Sequence tagging: an encoder of words and an output over tags.

    sentences ── word features ── encoder ── hidden (B, T, size) ── scores (B, T, K) ── tags

With a bidirectional LSTM, characters and a CRF it is the tagger of Lample et al. (2016) and Ma and
Hovy (2016); with the encoder `window` that of Collobert et al. (2011).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from elman.batches.sentences import ExampleBatch, Sentences
from elman.config import at_least
from elman.errors import choose
from elman.layers.dropout import check_rate
from elman.layers.encoders import EncoderConfig, SentenceEncoder
from elman.layers.tag_outputs import TAG_OUTPUTS
from elman.layers.tag_scores import TagScores
from elman.layers.word_features import ColumnFeatures
from elman.matrix_products import LinearLayer
from elman.models.contract import Loss
from elman.models.sentence_model import SentenceModel
from elman.text.tag_schemes import Entity, find_entities, is_scheme
from elman.text.task_config import TaggedConfig

_CRITERIA = ("tags", "spans")
OUTSIDE = "O"  # the tag of words outside of spans
_UNSEEN = "B-unseen"  # the name of every tag unseen in training: a span that cannot be found
_TIE = 1e-6


@dataclass(kw_only=True)
class TaggerConfig(EncoderConfig):
    """A tagger."""

    output: str = "crf"  # elman list tag-outputs
    feature_size: int = 25  # size of each feature vector; one feature per column of text.features
    linear: int = 0  # size of the hash table of linear features of words and neighbours; 0: none
    dropout_linear: float = 0.5  # dropout of the linear features of a word
    validate_by: str = "tags"  # tags: share of wrong tags; spans: 1 - F1, if the tags mark spans

    def __post_init__(self) -> None:
        super().__post_init__()
        TAG_OUTPUTS.check(self.output)
        at_least(self.feature_size, 1, "model.feature_size")
        at_least(self.linear, 0, "model.linear")
        check_rate(self.dropout_linear, "dropout_linear")
        choose(dict.fromkeys(_CRITERIA), self.validate_by, "validate_by")


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
        names: Sequence[str] = (),
    ) -> None:
        """`language_model`: a trained `BidirectionalModel` whose layers are word features;
        `columns`: for each further column, the counts of its values in the training data;
        `names`: the names of the tags, for validation by spans.
        """
        super().__init__()
        self.config = config
        self.offset = 0.0  # how much the score of O is lowered to choose tags
        beside = None
        if columns:
            beside = ColumnFeatures(columns, config.feature_size, config.unknown_rate)
        self.encoder = SentenceEncoder(config, counts, language_model, beside)
        self.scores = LinearLayer(self.encoder.size, tags)
        self.output = TAG_OUTPUTS[config.output](tags)
        self.names = [*names, _UNSEEN]
        if config.validate_by == "spans" and is_scheme(names):
            self.judged_by = "span_error"
        self.linear = None
        if config.linear:
            self.linear = TagScores(tags, table=config.linear, dropout=config.dropout_linear)

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of the correct tags."""
        (sentences,) = batch.inputs
        parts = self._parts(sentences)
        nats = self.output.loss(_sum(parts), batch.targets, sentences.lengths)
        penalty = self.encoder.penalty()
        if len(parts) > 1:  # each also learns alone, or one would leave the other no gradient
            times = len(parts)
            targets, lengths = batch.targets.repeat(times, 1), sentences.lengths.repeat(times)
            alone = self.output.loss(torch.cat(parts), targets, lengths)
            penalty = penalty + alone / batch.tokens
        return Loss(nats, batch.tokens, penalty), ()

    def errors(self, batch: ExampleBatch) -> int:
        """The number of wrong tags."""
        (sentences,) = batch.inputs
        wrong = (self.best(sentences) != batch.targets) & sentences.real()
        return int(wrong.sum())

    def judge(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Wrong tags; or missed and false spans among all true and predicted ones, 1 - F1."""
        if self.judged_by != "span_error":
            return super().judge(batch, carried)
        (sentences,) = batch.inputs
        lengths, best = sentences.lengths.tolist(), self.best(sentences)
        true, found = self._spans(batch.targets, lengths), self._spans(best, lengths)
        wrong_tags = int(((best != batch.targets) & sentences.real()).sum())
        # A tie, like no span at all, is decided by the tags.
        wrong = len(true ^ found) + _TIE * wrong_tags
        return Loss(torch.tensor(wrong, dtype=torch.double), len(true) + len(found)), ()

    def _spans(self, tags: torch.Tensor, lengths: Sequence[int]) -> set[tuple[int, Entity]]:
        """The spans of a batch, each with its row."""
        return {
            (row, span)
            for row, (numbers, length) in enumerate(zip(tags.tolist(), lengths, strict=True))
            for span in find_entities([self.names[number] for number in numbers[:length]])
        }

    @property
    def adjusted(self) -> bool:
        """Whether it answers otherwise than it was trained: with an offset that was fitted."""
        return self.offset != 0

    @torch.no_grad()
    def best(self, sentences: Sentences) -> torch.Tensor:
        """The most probable tags, (B, T), with the offset of the model."""
        return self.choose(self.score(sentences), sentences.lengths, self.offset)

    def choose(
        self, scores: torch.Tensor, lengths: torch.Tensor, offset: float = 0.0
    ) -> torch.Tensor:
        """The best tags (B, T) of scores; `offset`: how much O, outside of spans, is lowered."""
        if offset and OUTSIDE in self.names:
            lowered = scores.new_zeros(scores.shape[2])
            lowered[self.names.index(OUTSIDE)] = offset
            scores = scores - lowered
        return self.output.best(scores, lengths)

    def score(self, sentences: Sentences) -> torch.Tensor:
        """Scores of the tags before the output, (B, T, K)."""
        return _sum(self._parts(sentences))

    def _parts(self, sentences: Sentences) -> list[torch.Tensor]:
        """The scores of the network, and those of the linear features if there are any."""
        network = self.scores(self.encoder(sentences))
        return [network] if self.linear is None else [network, self.linear(sentences)]


def _sum(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    return functools.reduce(torch.add, parts)
