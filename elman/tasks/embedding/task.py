"""Contextual word vectors: a bidirectional language model, from plain text to layers.

`Embedding` is the task: predict every word from both sides. `TrainedEmbedding` is the result of
`elman.train` and `elman.load`: it measures perplexity and returns the vectors of every layer.

Sentences are lines of plain text. A line of more than `text.longest` words is cut after the last
`.`, `?` or `!` that still fits, otherwise after that many words. Empty lines are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from elman.batches.sentences import Examples
from elman.config import at_least
from elman.data_checks import whole
from elman.errors import InputError
from elman.evaluation.bootstrap import Measure, share_of
from elman.evaluation.measures import TaskMeasures
from elman.models.bidirectional import BidirectionalModel
from elman.recipes import RunConfig
from elman.tasks.arguments import check_list
from elman.tasks.sentence_task import SentenceTask, TrainedSentenceTask, learn_words
from elman.tasks.vectors import carried_layers_of, layers_of, type_vectors_of
from elman.text.corpora import Corpus
from elman.text.reader import Document
from elman.text.running_text import open_running_text
from elman.text.tokenizer import UNKNOWN
from elman.text.word_list import WordList

Sentence = tuple[str, ...]
_BATCH = 32  # sentences side by side
_ENDS = frozenset(".?!")


class TrainedEmbedding(TrainedSentenceTask):
    """A trained bidirectional language model with its vocabulary."""

    about = "a bidirectional language model"
    task: Embedding
    model: BidirectionalModel

    def layers(
        self, sentences: Iterable[Sequence[str]], *, carry_state: int = 0
    ) -> list[np.ndarray]:
        """The vectors of every layer for each sentence, (layers, words, numbers).

        With `carry_state`, sentences are read in batches of this size, and each row continues from
        its state after the batch before, as in the published code: vectors depend on the order.
        """
        words = [
            tuple(check_list(sentence, f"sentences[{number}]", "words"))
            for number, sentence in enumerate(check_list(sentences, "sentences", "lists of words"))
        ]
        reader = self.task.reader
        if not carry_state:
            return layers_of(self.model, reader, words)
        at_least(carry_state, 1, "carry_state")
        batches = carried_layers_of(self.model.eval(), reader, words, carry_state)
        return [layers for _, some in batches for layers in some]

    def type_vectors(self, words: Sequence[str]) -> np.ndarray:
        """Word vectors from characters alone, (words, numbers)."""
        return type_vectors_of(self.model, self.task.reader, check_list(words, "words", "words"))

    def measure(self, examples: Sequence[Sentence]) -> BidirectionalMeasures:
        nats = [0.0, 0.0]
        for _, batch in self.in_batches([examples], _BATCH):
            scores = self.model.score(batch[0])
            nats = [sum_ - float(part) for sum_, part in zip(nats, scores.sum((1, 2)), strict=True)]
        count = sum(predictions(len(example)) for example in examples)
        ids = [self.task.words.ids(example) for example in examples]
        return BidirectionalMeasures(
            perplexity=math.exp(sum(nats) / count),
            forward=math.exp(2 * nats[0] / count),
            backward=math.exp(2 * nats[1] / count),
            predictions=count,
            unknown_words=sum(int((row == 0).sum()) for row in ids),
        )

    def references(self, examples: Sequence[Sentence]) -> list[Any]:
        """The sentences as the model predicts them, with `<unk>` for unknown words."""
        return [
            tuple(
                word if number else UNKNOWN
                for word, number in zip(example, self.task.words.ids(example), strict=True)
            )
            for example in examples
        ]

    def measures_of(self, examples: Sequence[Sentence]) -> list[Measure]:
        nats = np.zeros(len(examples))
        for rows, batch in self.in_batches([examples], _BATCH):
            nats[rows] = -self.model.score(batch[0]).sum((0, 2)).double().numpy()
        mean = share_of(nats, [predictions(len(example)) for example in examples])
        return [Measure("perplexity", lambda weights: np.exp(mean(weights)), False)]


class Embedding(SentenceTask):
    """The task with its vocabulary; all other words are predicted as `<unk>`."""

    unit = "sentences"
    recipe = "elmo-small"
    trained_class = TrainedEmbedding

    def __init__(self, config: RunConfig, words: WordList, unknown: int | None) -> None:
        """`unknown`: the count of `<unk>` in training; None: the model predicts nothing."""
        super().__init__(config, words)
        self.unknown = unknown

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        return open_running_text(data, plain=config.text.plain)

    @classmethod
    def read(cls, document: Document, config: RunConfig) -> list[Sentence]:
        return read_plain_lines(document, config.text.longest)

    @classmethod
    def sample(cls, example: Sentence) -> dict[str, str]:
        return {"text": " ".join(example)}

    @classmethod
    def learn(cls, examples: Sequence[Sentence], config: RunConfig) -> Self:
        # A text may have an unknown word already, as published ones often do: it is the same one.
        written = [tuple(word for word in example if word != UNKNOWN) for example in examples]
        words = learn_words(written, config)
        return cls(config, words, sum(map(len, examples)) - int(words.counts.sum()))

    def batches(self, examples: Sequence[Sentence], batch_size: int, seed: int | None) -> Examples:
        """What is to be predicted are the words themselves; targets say how much that is."""
        targets = [np.zeros(predictions(len(example)), dtype=np.int64) for example in examples]
        return Examples([self.index(examples)], targets, batch_size=batch_size, seed=seed)

    def build(self, examples: Any = None) -> BidirectionalModel:
        counts = None if self.unknown is None else self.counts()
        return BidirectionalModel(self.config.model, counts)

    def counts(self) -> torch.Tensor:
        counts = super().counts().clone()
        counts[0] = self.unknown or 0
        return counts

    def facts(self, examples: Sequence[Sentence]) -> dict[str, Any]:
        return {"running_words": sum(map(len, examples)), "unknown": self.unknown}

    def to_data(self) -> dict[str, Any]:
        return {"words": self.words.to_data(), "unknown": self.unknown}

    @classmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        return cls(config, WordList.from_data(data["words"]), _unknown(data["unknown"]))


def _unknown(value: Any) -> int | None:
    return None if value is None else whole(value, "unknown")


def predictions(words: int) -> int:
    """Of a sentence: every word and a boundary, in both directions."""
    return 2 * (words + 1)


@dataclass(frozen=True)
class BidirectionalMeasures(TaskMeasures):
    """The exact perplexity of a text: words and ends of sentences."""

    perplexity: float  # of both directions together
    forward: float  # perplexity from the left
    backward: float  # perplexity from the right
    predictions: int
    unknown_words: int  # that were predicted as the unknown word

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))

    def rows(self) -> list[tuple[str, Any]]:
        return [
            ("perplexity", self.perplexity),
            ("from the left", self.forward),
            ("from the right", self.backward),
            ("predictions", self.predictions),
            ("unknown words", self.unknown_words),
        ]


def read_plain_lines(document: Document, longest: int) -> list[tuple[str, ...]]:
    """The sentences of a document, none empty."""
    lines = [tuple(line.split()) for line in document.text.split("\n")]
    pieces = [piece for line in lines for piece in cut(line, longest)]
    if not pieces:
        raise InputError(f"{document.name}: there are no words in it; give a file with text")
    return pieces


def cut(words: tuple[str, ...], longest: int) -> Iterator[tuple[str, ...]]:
    """Pieces of a line of at most so many words."""
    while len(words) > longest:
        ends = (place for place in range(longest, 0, -1) if words[place - 1] in _ENDS)
        place = next(ends, longest)
        yield words[:place]
        words = words[place:]
    if words:
        yield words
