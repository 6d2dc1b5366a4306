"""Tasks over sentences of words: the common part of taggers, classifiers and similar models.

A task encodes words by number and by their characters (`batches/sentences.py`). It can also use a
frozen bidirectional language model (ELMo): `--set model.elmo=RUN`. Its run is read once, when the
training starts. Then its weights are stored with those of the task, and its settings in the task's
`vocabulary.json`, so the run of the task is complete without it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from elman.batches.sentences import IndexedSentences, SentenceReader, Sentences
from elman.config import as_data, build
from elman.errors import InputError
from elman.evaluation.calibration import calibration_lines
from elman.evaluation.measures import MeasureTable
from elman.layers.elmo import Contextual
from elman.models.bidirectional import BidirectionalConfig, BidirectionalModel
from elman.recipes import RunConfig, saved_config
from elman.runs.folder import read_run
from elman.tasks.example_task import ExampleTask, TrainedTask
from elman.tasks.fine_tuning import begin_with, layer_settings, vocabulary_of
from elman.tasks.gradient_task import refuse_two_sources
from elman.tasks.pretrained import read_pretrained
from elman.tasks.saved_runs import check_arrays, kind_in
from elman.tasks.task import Told
from elman.tasks.trained import Trained
from elman.text.corpus_form import CorpusForm
from elman.text.word_list import WordList

_SOFTMAX = "softmax."  # its weights, which a task does not use
_KIND = "bidirectional"
_REMEMBERED = 2**29  # bytes of layers of a frozen language model that a training keeps in memory
_PARTS = ("config.json", "vocabulary.json", "facts.json", "weights.safetensors")


class Elmo:
    """The settings of a bidirectional model, and its weights until the task has copied them."""

    def __init__(
        self, config: BidirectionalConfig, arrays: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.config = config
        self._arrays = arrays

    @classmethod
    def read(cls, run: str) -> Elmo:
        """The model in a run folder."""
        if not Path(run).exists():
            raise InputError(
                f"model.elmo={run}: no such run; train one with: elman train elmo-small --data … "
                f"--out {run}"
            )
        contents = read_run(Path(run), _PARTS, check_arrays)
        kind = kind_in(contents)
        if kind != _KIND:
            raise InputError(
                f"model.elmo={run}: is a run of the model {kind!r}; give one of the recipe elmo or "
                "elmo-small"
            )
        weights = contents["weights.safetensors"].items()
        arrays = {name: array for name, array in weights if not name.startswith(_SOFTMAX)}
        return cls(saved_config(contents["config.json"]).model, arrays)

    def build(self) -> BidirectionalModel:
        """The model without a softmax; its weights are fresh if they are loaded later."""
        model = BidirectionalModel(self.config)
        if self._arrays is not None:
            model.load_arrays(self._arrays)
        return model

    def to_data(self) -> dict[str, Any]:
        return as_data(self.config)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Elmo:
        """Restore it from its settings; its weights are stored with those of the task."""
        return cls(build(BidirectionalConfig, data, "elmo"))


class SentenceTask(ExampleTask):
    """The vocabulary and labels of a model, and the way from examples to batches."""

    def __init__(self, config: RunConfig, words: WordList) -> None:
        super().__init__(config)
        self.words = words
        self.reader = SentenceReader(words)
        self.elmo: Elmo | None = None  # a frozen language model, whose layers are features

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Everything learned from the training text, as plain data."""

    @classmethod
    @abstractmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        """Restore the task from its data."""

    def complete(self, note: Told, warn: Told) -> None:
        """Read the frozen language model and the word vectors that the settings name."""
        model = self.config.model
        if named := getattr(model, "elmo", ""):
            self.elmo = Elmo.read(named)
        if named := getattr(model, "vectors", ""):
            found = read_pretrained(
                named,
                self.words.words[1:],
                size=model.embedding_size,
                note=note,
                warn=warn,
                normalise=self.words.normalise,
                further=model.vectors_words,
            )
            # Number 0 is the unknown word.
            self.pretrained = replace(found, numbers=found.numbers + 1)
            self.words = self.words.with_further(found.further_words)
            self.reader = SentenceReader(self.words)

    def vocabulary(self) -> dict[str, int]:
        return {"words": self.words.known}

    def kept(self) -> dict[str, Any]:
        """Add the settings of the frozen language model, if there is one."""
        return self.to_data() | ({} if self.elmo is None else {"elmo": self.elmo.to_data()})

    @classmethod
    def restored(cls, data: dict[str, Any], config: RunConfig) -> Self:
        task = cls.from_data(data, config)
        task.elmo = Elmo.from_data(data["elmo"]) if "elmo" in data else None
        return task

    @classmethod
    def settings_from(cls, before: Trained, config: RunConfig) -> dict[str, Any] | None:
        """The sizes of a language model."""
        return None if isinstance(before.task, cls) else layer_settings(before, config)

    def add_vocabulary(self, before: Trained) -> None:
        """Add the words of a language model, so that words unseen in training have vectors too."""
        self.words = self.words.extended(vocabulary_of(before))
        self.reader = SentenceReader(self.words)

    def take_over(self, before: Trained, model: Any, warn: Callable[[str], None]) -> list[str]:
        """Weights of a run of the same task; or word vectors and layers of a language model."""
        if isinstance(before.task, type(self)):
            return super().take_over(before, model, warn)
        refuse_two_sources(before, self.config)
        return [begin_with(before, self.config, self.words, model, warn)]

    def language_model(self) -> BidirectionalModel | None:
        """The frozen model for a fresh model of the task, if the settings name one."""
        return None if self.elmo is None else self.elmo.build()

    def remember(self, model: Any, batches: Sequence[Any]) -> None:
        """Compute the layers of the frozen language model once, not in every epoch, if there is
        enough memory for them.
        """
        found = [part for part in model.modules() if isinstance(part, Contextual)]
        if not found:
            return
        frozen = found[0].model
        words = sum(part.words for part in batches)
        if 4 * words * frozen.num_layers * frozen.size > _REMEMBERED:
            return

        def layers(sentences: Sentences) -> torch.Tensor:
            return frozen.layers(sentences.to(next(frozen.parameters()).device))

        for part in batches:
            part.remember(layers)

    def index(self, sentences: Sequence[Sequence[str]]) -> IndexedSentences:
        """Sentences ready for batching."""
        return self.reader.index(sentences)

    @cached_property
    def form(self) -> CorpusForm:
        """How the training text splits typed text."""
        return CorpusForm(self.words.seen(), self.words.normalise, keeps_marks=True)

    def splitting(self) -> dict[str, Any]:
        """How typed text is split, for exports: `formats/portable/words.py` describes the ways."""
        return {"splits": "spaces", "cuts": None}

    def counts(self) -> torch.Tensor:
        """How often each word came in training."""
        return torch.from_numpy(self.words.counts)


class TrainedSentenceTask(TrainedTask):
    """A trained model of sentences of words."""

    def summary(self) -> list[str | MeasureTable]:
        return [*super().summary(), *calibration_lines(self.facts, self.task.unit)]

    def in_batches(
        self, texts: Sequence[Sequence[Sequence[Any]]], batch_size: int
    ) -> Iterator[tuple[np.ndarray, tuple[Sentences, ...]]]:
        """Batches of rows of similar length, with their numbers; empty rows are left out.

        `texts`: the sentences; for pairs, all first sentences and all second sentences.
        """
        self.model.eval()
        lengths = np.array([[len(sentence) for sentence in part] for part in texts])
        order = np.flatnonzero(lengths.min(0) > 0) if lengths.size else np.array([], dtype=int)
        order = order[np.argsort(lengths.max(0)[order], kind="stable")] if len(order) else order
        indexed = [self.task.index(part) for part in texts]
        with torch.inference_mode():
            for first in range(0, len(order), batch_size):
                rows = order[first : first + batch_size]
                yield rows, tuple(part.batch(rows) for part in indexed)


def learn_words(sentences: Sequence[Sequence[str]], config: RunConfig) -> WordList:
    """The vocabulary of a training text, according to the settings of the section text."""
    text = config.text
    return WordList.learn(
        sentences,
        min_count=text.min_count,
        lowercase=text.lowercase,
        digits_alike=text.digits_alike,
        normalise=text.normalise,
    )
