"""What stands between files of examples and a model that is trained on them.

A task opens data, reads documents as examples, learns from them what there is to know, makes
batches and a model, and is kept in a run folder as `vocabulary.json`. Called by
`sentence_training.py`, which trains any of them, and by `trained_task.py`. Tasks over words are
`sentence_task.py`, those that write a text are `translation.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from elman.batches.batch import Batches
from elman.recipes import RunConfig
from elman.registry import Registry
from elman.text.corpora import Corpus, open_corpus
from elman.text.example_splits import ORDERED, Splitter
from elman.text.reader import Document

# Of the model, which names the task in a recipe.
TASKS = Registry(
    "model",
    {
        "tagger": "elman.tasks.tagging.task:Tagging",
        "classifier": "elman.tasks.classification.task:Classification",
        "bidirectional": "elman.tasks.embedding.task:Embedding",
        "answerer": "elman.tasks.answering.task:Answering",
        "encoder-decoder": "elman.tasks.translation.task:Translation",
    },
    group="tasks",
)


class ExampleTask(ABC):
    """The way from data to examples, and from examples to batches."""

    unit: ClassVar[str]  # what examples are called, as in "3,394 sentences"
    recipe: ClassVar[str]  # one that trains it

    def __init__(self, config: RunConfig) -> None:
        self.config = config

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        """The documents of a path or a name."""
        return open_corpus(data)

    @classmethod
    @abstractmethod
    def read(cls, document: Document, config: RunConfig) -> list[Any]:
        """The examples of a document."""

    @classmethod
    def splitter(cls, config: RunConfig) -> Splitter:
        """How the examples of one file are split."""
        return Splitter(getattr(config.text, "split", ORDERED))

    @classmethod
    def columns(
        cls, document: Document, examples: Sequence[Any], config: RunConfig
    ) -> dict[str, str]:
        """The columns that a table of training examples was read from; others are read alike.

        Refuses what cannot be meant, like a label of its own for every text.
        """
        return {}

    @classmethod
    def learned(cls, examples: Sequence[Any]) -> list[Any]:
        """What is learned of examples: themselves, or more, like the phrases of trees."""
        return list(examples)

    @classmethod
    @abstractmethod
    def learn(cls, examples: Sequence[Any], config: RunConfig) -> Self:
        """The task of a training text."""

    @abstractmethod
    def batches(self, examples: Sequence[Any], batch_size: int, seed: int | None) -> Batches:
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

    @abstractmethod
    def vocabulary(self) -> dict[str, int]:
        """How much it knows, by what that is called: different words, source tokens …"""

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
        """What a run folder keeps of it."""
        return self.to_data()

    @classmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        """The task that a run folder keeps."""
        return cls.from_data(data, config)
