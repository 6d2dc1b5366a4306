"""Word vectors: plain text becomes words with the words around them, and a table of vectors.

`WordVectors` is the task; `elman.train` and `elman.load` return `TrainedWordVectors`. A line of
text is a sentence: no window reaches beyond it. Text with marks attached to its words is split into
words and marks. Words that occur less than `text.min_count` times are left out, as in the published
program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from elman.batches.contexts import Contexts, kept_shares
from elman.errors import InputError
from elman.evaluation.measures import TaskMeasures
from elman.models.word2vec import Word2Vec
from elman.recipes import RunConfig
from elman.tasks.arguments import check_list
from elman.tasks.sentence_task import SentenceTask, TrainedSentenceTask, learn_words
from elman.text import guess_tokenizer
from elman.text.corpora import Corpus
from elman.text.reader import Document
from elman.text.running_text import open_running_text
from elman.text.splitting import split_raw
from elman.text.tokenizer import UNKNOWN
from elman.text.word_list import WordList

Sentence = tuple[str, ...]
_BATCH = 4096  # words of the text


class TrainedWordVectors(TrainedSentenceTask):
    """Trained word vectors with their vocabulary."""

    about = "a table of word vectors"
    task: WordVectors
    model: Word2Vec

    @property
    def words(self) -> list[str]:
        """The words of the vocabulary, most frequent first."""
        return self.task.words.words[1:]

    @property
    def table(self) -> np.ndarray:
        """The vectors of all words, (words, numbers)."""
        table: np.ndarray = self.model.vectors.weight[1:].numpy(force=True)
        return table

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """The vectors of words, (words, numbers); zeros for words of which there is none."""
        ids = torch.from_numpy(self.task.words.ids(check_list(words, "words", "words")))
        vectors = self.model.vectors.weight.detach()[ids] * (ids > 0)[:, None]
        return vectors.numpy(force=True)

    def measure(self, examples: Sequence[Sentence]) -> WordVectorMeasures:
        batches = self.task.batches(examples, _BATCH, None)
        nats, predictions = 0.0, 0
        self.model.eval()
        with torch.inference_mode():
            while (batch := batches.next()) is not None:
                loss, _ = self.model.loss(batch)
                nats, predictions = nats + float(loss.nats), predictions + loss.tokens
        if not predictions:
            raise InputError("no two known words are near each other in the text; give more text")
        unknown = sum(int((self.task.words.ids(words) == 0).sum()) for words in examples)
        return WordVectorMeasures(nats / predictions, predictions, unknown)

    def validation_line(self, judged_by: str, value: float | None, tokens: int) -> str:
        return f"validation loss {value:.4f} per prediction, {tokens:,} words"

    def next_command(self, run: str) -> str:
        return f'elman nearest {run} "{self.words[min(len(self.words) - 1, 100)]}"'


class WordVectors(SentenceTask):
    """The task with its vocabulary."""

    unit = "lines"
    judged = "words"
    recipe = "word2vec"
    trained_class = TrainedWordVectors

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        return open_running_text(data, plain=config.text.plain)

    @classmethod
    def read(cls, document: Document, config: RunConfig) -> list[Sentence]:
        """The lines with words, split at spaces, or into words and marks if the text is raw."""
        tokenized = guess_tokenizer(document.text) == "words"
        split = str.split if tokenized else split_raw
        lines = [tuple(split(line)) for line in document.text.split("\n")]
        found = [line for line in lines if line]
        if not found:
            raise InputError(f"{document.name}: there are no words in it; give a file with text")
        return found

    @classmethod
    def sample(cls, example: Sentence) -> dict[str, str]:
        return {"words": max(example[:20], key=len)}

    @classmethod
    def learn(cls, examples: Sequence[Sentence], config: RunConfig) -> Self:
        # Published texts mark rare words as unknown already: these are left out too.
        words = learn_words([[w for w in words if w != UNKNOWN] for words in examples], config)
        if len(words) < 3:
            raise InputError(
                f"fewer than two words occur text.min_count={config.text.min_count} times; give "
                "more text or a smaller text.min_count"
            )
        return cls(config, words)

    def batches(self, examples: Sequence[Sentence], batch_size: int, seed: int | None) -> Contexts:
        model = self.config.model
        return Contexts(
            [self.words.ids(words) for words in examples],
            kept_shares(self.words.counts, model.subsample),
            window=model.window,
            batch_size=batch_size,
            seed=seed,
        )

    def build(self, examples: Any = None) -> Word2Vec:
        return Word2Vec(self.config.model, self.counts())

    def facts(self, examples: Sequence[Sentence]) -> dict[str, Any]:
        return {"running_words": sum(map(len, examples))}

    def to_data(self) -> dict[str, Any]:
        return {"words": self.words.to_data()}

    @classmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        return cls(config, WordList.from_data(data["words"]))


@dataclass(frozen=True)
class WordVectorMeasures(TaskMeasures):
    """How well the model tells true neighbours of a word from noise words."""

    loss: float  # nats per prediction
    predictions: int
    unknown_words: int  # left out

    def to_data(self) -> dict[str, Any]:
        return dict(vars(self))

    def rows(self) -> list[tuple[str, Any]]:
        return [
            ("loss", self.loss),
            ("predictions", self.predictions),
            ("unknown words", self.unknown_words),
        ]
