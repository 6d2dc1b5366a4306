"""Tasks over sentences of words: what the tagger, the classifier and their like have in common.

A task knows words by number and by their characters (`batches/sentences.py`), and may have a frozen
language model beside them. Called by one file per task, which says the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import torch

from elman.batches.sentences import IndexedSentences, SentenceReader
from elman.models.bidirectional import BidirectionalModel
from elman.recipes import RunConfig
from elman.tasks.elmo import Elmo
from elman.tasks.example_task import ExampleTask
from elman.text.corpus_form import CorpusForm
from elman.text.word_list import WordList


class SentenceTask(ExampleTask):
    """Words and labels that a model knows, and the way from examples to batches."""

    def __init__(self, config: RunConfig, words: WordList) -> None:
        super().__init__(config)
        self.words = words
        self.reader = SentenceReader(words)
        self.elmo: Elmo | None = None  # a frozen language model, whose layers are features

    def vocabulary(self) -> dict[str, int]:
        return {"words": len(self.words)}

    def kept(self) -> dict[str, Any]:
        """With the settings of the frozen language model, if there is one."""
        return self.to_data() | ({} if self.elmo is None else {"elmo": self.elmo.to_data()})

    @classmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        task = cls.from_data(data, config)
        task.elmo = Elmo.from_data(data["elmo"]) if "elmo" in data else None
        return task

    def language_model(self) -> BidirectionalModel | None:
        """The frozen model for a fresh model of the task, if the settings name one."""
        return None if self.elmo is None else self.elmo.build()

    def index(self, sentences: Sequence[Sequence[str]]) -> IndexedSentences:
        """Sentences ready to be put side by side."""
        return self.reader.index(sentences)

    @cached_property
    def form(self) -> CorpusForm:
        """How the training text writes what people type."""
        return CorpusForm(self.words.words[1:], self.words.normalise, keeps_marks=True)

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
        normalise=text.normalise,
    )
