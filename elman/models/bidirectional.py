"""The bidirectional language model of ELMo (Peters et al. 2018): two directions, one softmax.

    x_0 … x_{n+1}      begin of sentence, its n words, end of sentence: vectors from characters
    →h_k               output of forward LSTMs after x_0 … x_k:        p(x_{k+1} | x_0 … x_k)
    ←h_k               output of backward LSTMs after x_{n+1} … x_k:   p(x_{k-1} | x_k … x_{n+1})

Both directions are trained together. They share the character layers and the softmax, and have
separate LSTMs. A layer is an LSTM with projection, whose cell and output are clipped; from the
second layer on, the input is added to the output. Takes `Sentences`, gives the nats of the words
(`loss`), their log probabilities in both directions (`score`), or the outputs of all layers for
every word (`layers`), which tasks mix (`layers/elmo.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import nn

from elman.batches.sentences import ExampleBatch, Sentences
from elman.cells.lstm import LSTM
from elman.config import at_least, check_types
from elman.errors import InputError
from elman.layers.dropout import check_rate, dropout
from elman.layers.elmo import ElmoCharacters, check_filters
from elman.layers.outputs.sampled import SampledSoftmax
from elman.layers.recurrent import Recurrent
from elman.layers.softmax import softmax_loss, softmax_scores
from elman.models.contract import Loss
from elman.models.weights import Kept
from elman.state import State
from elman.text.task_config import LinesConfig


@dataclass(kw_only=True)
class BidirectionalConfig:
    """Settings of a bidirectional language model; the defaults are those of the paper."""

    character_size: int = 16  # numbers per character vector
    widths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)  # widths of the character filters
    filters: tuple[int, ...] = (32, 32, 64, 128, 256, 512, 1024)  # number of filters of each width
    highways: int = 2  # highway layers over the filters
    longest: int = 50  # maximum symbols per word, including its begin and end marks
    projection: int = 512  # numbers per word vector, and per output of a layer and direction
    hidden_size: int = 4096  # units per layer and direction; if equal to projection, there is none
    num_layers: int = 2
    residual: bool = True  # from the second layer on, add the input to the output
    cell_clip: float | None = 3.0  # bound of the cell state
    projection_clip: float | None = 3.0  # bound of the output
    dropout: float = 0.1  # dropout of the input of each layer and the output of the last
    samples: int = 8192  # sampled words per step for the softmax, besides those of the batch

    def __post_init__(self) -> None:
        check_types(self)
        check_filters(self.widths, self.filters, self.longest)
        check_rate(self.dropout, "dropout")
        for name in ("character_size", "projection", "num_layers"):
            at_least(getattr(self, name), 1, name)
        if self.highways < 0:
            raise InputError(f"highways={self.highways}: must not be negative")
        if self.hidden_size < self.projection:
            raise InputError(
                f"hidden_size={self.hidden_size}: must be at least projection={self.projection}"
            )


class Reader(nn.Module):
    """LSTM layers of one direction."""

    def __init__(self, config: BidirectionalConfig) -> None:
        super().__init__()
        self.config = config
        self.stack = nn.ModuleList(Recurrent(_cell(config)) for _ in range(config.num_layers))

    def start(self, batch_size: int) -> State:
        """The initial state of each layer."""
        return tuple(cast("Recurrent", layer).start(batch_size) for layer in self.stack)

    def forward(
        self,
        inputs: torch.Tensor,
        state: State | None = None,
        lengths: torch.Tensor | None = None,
    ) -> tuple[list[torch.Tensor], State]:
        """The output of each layer, (B, T, projection), and its state after the last word."""
        outputs, after = [], []
        for number, layer in enumerate(self.stack):
            inputs = dropout(inputs, self.config.dropout, self.training)
            run = layer(inputs, None if state is None else state[number], lengths=lengths)
            inputs = inputs + run.outputs if number and self.config.residual else run.outputs
            outputs.append(inputs)
            after.append(run.state)
        return outputs, tuple(after)


class BidirectionalModel(Kept):
    """Predict every word from the words before it, and again from the words after it."""

    about: ClassVar[str] = "bidirectional language model; its layers are ELMo word vectors"
    task: ClassVar[str] = "embedding"
    text_class: ClassVar[type] = LinesConfig
    config_class: ClassVar[type] = BidirectionalConfig

    def __init__(self, config: BidirectionalConfig, counts: torch.Tensor | None = None) -> None:
        """`counts` (V,) of the predicted words; None: no softmax, the model only embeds words."""
        super().__init__()
        self.config = config
        self.size = 2 * config.projection  # numbers per word and layer
        self.num_layers = config.num_layers + 1  # the character vectors count as a layer
        self.characters = ElmoCharacters(
            character_size=config.character_size,
            widths=config.widths,
            filters=config.filters,
            highways=config.highways,
            projection=config.projection,
            longest=config.longest,
        )
        self.readers = nn.ModuleList(Reader(config) for _ in range(2))
        self.softmax = None if counts is None else _softmax(config, counts)

    def facts(self) -> dict[str, Any]:
        """The main facts about the model, as plain data."""
        return {"parameters": self.count_parameters()}

    def multiplications(self, step_tokens: int, *, learning: bool = True) -> int:
        """Multiply-adds per prediction of layers and softmax, forward only."""
        layers = sum(weight.numel() for weight in self.readers.parameters() if weight.dim() == 2)
        return layers // 2 + (self.config.samples + step_tokens) * self.config.projection

    def loss(self, batch: ExampleBatch, carried: Any = None) -> tuple[Loss, tuple[()]]:
        """Nats of all words and boundaries, in both directions.

        In training it is estimated with a sample of the vocabulary, the same for all words.
        """
        (sentences,) = batch.inputs
        softmax = self._softmax()
        words = self._words(sentences)
        predicted = _within(sentences.lengths + 1, words.shape[2] - 1)
        tops = (layers[-1] for layers in self._read(sentences, self.characters(sentences.spelled)))
        hidden = torch.cat([self._drop(top)[predicted] for top in tops])
        targets = words[:, :, 1:][:, predicted].flatten()
        weight, bias = softmax.matrix(None), softmax.bias
        if not self.training:
            return Loss(softmax_loss(hidden, weight, bias, targets), len(targets)), ()
        present = words[0][_within(sentences.lengths + 2, words.shape[2])]
        rows, _, adjust = softmax.draw(present)
        places = torch.searchsorted(rows, targets)
        nats = softmax_loss(hidden, weight.index_select(0, rows), bias[rows], places, adjust)
        return Loss(nats, len(targets)), ()

    @torch.no_grad()
    def score(self, sentences: Sentences) -> torch.Tensor:
        """Exact log probabilities (2, B, T + 1): forward of x_{k+1} given the words before it,
        backward of x_k given the words after it; k from 0 to n, and zero beyond.
        """
        softmax = self._softmax()
        words = self._words(sentences)
        predicted = _within(sentences.lengths + 1, words.shape[2] - 1)
        scores = torch.zeros(words[:, :, 1:].shape, device=words.device)
        read = self._read(sentences, self.characters(sentences.spelled))
        for direction, layers in enumerate(read):
            targets = words[direction, :, 1:][predicted]
            scores[direction][predicted] = softmax_scores(
                layers[-1][predicted], softmax.matrix(None), softmax.bias, targets
            )
        scores[1] = _flipped(scores[1], sentences.lengths + 1)
        return scores

    def layers(self, sentences: Sentences) -> torch.Tensor:
        """The output of every layer for every word, (K, B, T, 2 · projection): [forward; backward].

        The first layer is the character vectors, repeated for both directions. Padding is zero.
        """
        table = self.characters(sentences.spelled)
        return self._join(sentences, table, self._read(sentences, table))

    def start(self, batch_size: int) -> State:
        """The initial state of this many rows, for `layers_and_state`."""
        return tuple(cast("Reader", reader).start(batch_size) for reader in self.readers)

    def layers_and_state(self, sentences: Sentences, state: State) -> tuple[torch.Tensor, State]:
        """The layers as above, after other sentences, and the state after these.

        Each row continues from its state: the forward direction has read earlier sentences to
        their end, the backward direction to their beginning. The published code does this.
        """
        table = self.characters(sentences.spelled)
        lengths = sentences.lengths + 2  # both boundaries are read
        read = [
            reader(nn.functional.embedding(order, table), before, lengths)
            for reader, order, before in zip(
                self.readers, self._orders(sentences, table), state, strict=True
            )
        ]
        outputs = [[output[:, :-1] for output in outputs] for outputs, _ in read]
        return self._join(sentences, table, outputs), tuple(after for _, after in read)

    def _join(
        self, sentences: Sentences, table: torch.Tensor, read: list[list[torch.Tensor]]
    ) -> torch.Tensor:
        """All layers, (K, B, T, 2 · projection), from the outputs of the two directions."""
        alone = table[sentences.places]
        onward, back = read
        pairs = [(alone, alone)] + [
            (before[:, 1:], _flipped(after, sentences.lengths + 1)[:, :-1])
            for before, after in zip(onward, back, strict=True)
        ]
        layers = torch.stack([torch.cat(pair, dim=2) for pair in pairs])
        return layers * sentences.real().unsqueeze(2)

    def _read(self, sentences: Sentences, table: torch.Tensor) -> list[list[torch.Tensor]]:
        """The outputs of the layers of each direction after each step, (B, T + 1, projection).

        Padding comes last in both orders, so it affects no word. `table`: distinct word vectors.
        """
        return [
            reader(nn.functional.embedding(order[:, :-1], table))[0]
            for reader, order in zip(self.readers, self._orders(sentences, table), strict=True)
        ]

    @staticmethod
    def _orders(sentences: Sentences, table: torch.Tensor) -> torch.Tensor:
        """Rows of the table in the order of each direction, (2, B, T + 2)."""
        begin, end = len(table) - 2, len(table) - 1
        return _both_ways(sentences.places, sentences.lengths, begin, end)

    def _words(self, sentences: Sentences) -> torch.Tensor:
        """Ids in the order of each direction, (2, B, T + 2); the boundaries are the last two."""
        end = self._softmax().vocabulary_size - 1
        return _both_ways(sentences.words, sentences.lengths, end - 1, end)

    def _drop(self, values: torch.Tensor) -> torch.Tensor:
        return dropout(values, self.config.dropout, self.training)

    def _softmax(self) -> SampledSoftmax:
        if self.softmax is None:
            raise InputError(
                "this model has no softmax, because published weights have none: it gives word "
                "vectors, but no probabilities"
            )
        return self.softmax


def _cell(config: BidirectionalConfig) -> LSTM:
    """As in the published code, equal sizes have no projection and no clipping of it."""
    projected = config.hidden_size != config.projection
    return LSTM(
        config.projection,
        config.hidden_size,
        forget_bias=1.0,
        projection=config.projection if projected else None,
        cell_clip=config.cell_clip,
        projection_clip=config.projection_clip if projected else None,
    )


def _softmax(config: BidirectionalConfig, counts: torch.Tensor) -> SampledSoftmax:
    """One softmax for both directions. Boundaries count as the most frequent word."""
    size = config.projection
    counts = torch.cat([counts, counts.max().expand(2)])
    return SampledSoftmax(size, counts, samples=config.samples, embedding_size=size, tied=False)


def _both_ways(values: torch.Tensor, lengths: torch.Tensor, begin: int, end: int) -> torch.Tensor:
    """Sentences (B, T) with their boundaries, as each direction reads them, (2, B, T + 2)."""
    onward = nn.functional.pad(values, (1, 1), value=begin)
    onward = onward.scatter(1, lengths[:, None] + 1, end)
    return torch.stack([onward, _flipped(onward, lengths + 2)])


def _flipped(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Reverse every row (B, T, …) within its length; padding stays at the end."""
    steps = torch.arange(values.shape[1], device=values.device)
    places = torch.where(_within(lengths, len(steps)), lengths[:, None] - 1 - steps, steps)
    return values[torch.arange(len(values), device=values.device)[:, None], places]


def _within(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Which of `time` steps lie within each length, (B, time)."""
    return torch.arange(time, device=lengths.device) < lengths[:, None]
