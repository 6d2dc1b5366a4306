"""What stands between files of examples and a model of sentences.

A task reads a document as examples, learns from them which words and labels there are, makes
batches and a model of them, and is kept in a run folder as `vocabulary.json`. Called by
`sentence_training.py`, which trains any of them; one file per task says the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch

from elman.batches.sentences import Examples, IndexedSentences, SentenceReader
from elman.models.bidirectional import BidirectionalModel
from elman.registry import Registry
from elman.tasks.elmo import Elmo
from elman.tasks.recipes import RunConfig
from elman.text.reader import Document
from elman.text.word_list import WordList

# Of the model, which names the task in a recipe.
SENTENCE_TASKS = Registry(
    "model",
    {
        "tagger": "elman.tasks.tagging:Tagging",
        "classifier": "elman.tasks.classification:Classification",
        "bidirectional": "elman.tasks.embedding:Embedding",
        "answerer": "elman.tasks.answering:Answering",
    },
)


class SentenceTask(ABC):
    """Words and labels that a model knows, and the way from examples to batches."""

    unit: ClassVar[str]  # what examples are called, as in "3,394 sentences"

    def __init__(self, config: RunConfig, words: WordList) -> None:
        self.config = config
        self.words = words
        self.reader = SentenceReader(words)
        self.elmo: Elmo | None = None  # a frozen language model, whose layers are features

    @classmethod
    @abstractmethod
    def read(cls, document: Document, config: RunConfig) -> list[Any]:
        """The examples of a document."""

    @classmethod
    def learned(cls, examples: Sequence[Any]) -> list[Any]:
        """What is learned of examples: themselves, or more, like the phrases of trees."""
        return list(examples)

    @classmethod
    @abstractmethod
    def learn(cls, examples: Sequence[Any], config: RunConfig) -> Self:
        """The task of a training text."""

    @abstractmethod
    def batches(self, examples: Sequence[Any], batch_size: int, seed: int | None) -> Examples:
        """Examples to learn from, or without a seed to be judged on."""

    @abstractmethod
    def build(self) -> Any:
        """A fresh model."""

    @abstractmethod
    def facts(self, examples: Sequence[Any]) -> dict[str, Any]:
        """What is worth knowing of the training examples: labels, schemes."""

    def notes(self, examples: Sequence[Any]) -> list[str]:
        """What is to be said of examples that are not learned from, like labels never learned."""
        return []

    @classmethod
    @abstractmethod
    def trained_class(cls) -> Any:
        """What a trained model of it is (`trained_task.py`)."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """What it has learned from the training text, as plain data."""

    @classmethod
    @abstractmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        """The task that gave this data."""

    def kept(self) -> dict[str, Any]:
        """What a run folder keeps of it, with the settings of the frozen language model if any."""
        return self.to_data() | ({} if self.elmo is None else {"elmo": self.elmo.to_data()})

    @classmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        """The task that a run folder keeps."""
        task = cls.from_data(data, config)
        task.elmo = Elmo.from_data(data["elmo"]) if "elmo" in data else None
        return task

    def language_model(self) -> BidirectionalModel | None:
        """The frozen model for a fresh model of the task, if the settings name one."""
        return None if self.elmo is None else self.elmo.build()

    def index(self, sentences: Sequence[Sequence[str]]) -> IndexedSentences:
        """Sentences ready to be put side by side."""
        return self.reader.index(sentences)

    def counts(self) -> torch.Tensor:
        """How often each word came in training."""
        return torch.from_numpy(self.words.counts)


def learn_words(sentences: Sequence[Sequence[str]], config: RunConfig) -> WordList:
    """The words that a training text makes known, as the settings of the section text say."""
    text = config.text
    return WordList.learn(
        sentences,
        min_count=text.min_count,
        lowercase=text.lowercase,
        digits_alike=text.digits_alike,
    )
