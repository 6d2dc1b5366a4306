"""Classification: predict the label of a text or a pair of texts; from files to accuracy.

`Classification` is the task; `elman.train` and `elman.load` return a `TrainedClassifier`
(`trained.py`). For trees, evaluation covers whole sentences; with `text.phrases`, training uses
every distinct phrase, once with each of its labels. `reader.py` describes how texts are split into
words: at white space if the training text is tokenized, otherwise like raw words.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import torch

from elman import data_checks as checked
from elman.batches.sentences import Examples, Sentences
from elman.errors import InputError
from elman.evaluation.measures import unseen_notes
from elman.layers.ngram_scores import NgramScores, learn_ngrams
from elman.models.classifier import Classifier
from elman.recipes import RunConfig
from elman.tasks.classification.reader import (
    Example,
    columns_of,
    has_columns,
    is_tokenized,
    labelled,
    read_labelled,
)
from elman.tasks.classification.several import TrainedMultiLabel
from elman.tasks.classification.trained import TrainedClassifier
from elman.tasks.classification.weights import balanced_weights, example_weights, named_weights
from elman.tasks.sentence_task import SentenceTask, learn_words
from elman.tasks.task import Told
from elman.tasks.trivial import Trivial, most_frequent_label
from elman.text.corpora import Corpus, open_corpus
from elman.text.example_splits import Splitter
from elman.text.reader import Document
from elman.text.splitting import is_typed, split_text
from elman.text.word_list import WordList
from elman.training.settings import BALANCED

_FEWEST_TEXTS = 10  # with fewer, nothing follows from the number of labels
_MOST_LABELS = 0.6  # labels per text
_READ = 100  # texts at once for reading n-grams


class Classification(SentenceTask):
    """The classification task with its vocabulary and labels."""

    unit = "texts"
    judged = "texts"
    weighs_classes = True
    recipe = "classifier"
    trained_class = TrainedClassifier

    def __init__(
        self,
        config: RunConfig,
        words: WordList,
        labels: Sequence[str],
        *,
        texts: int = 1,
        tokenized: bool = True,
        length: float = 1.0,
        several: bool = False,
    ) -> None:
        """`texts`: 1, or 2 for pairs; `length`: words of an example in training, on average;
        `several`: any number of labels per text.
        """
        super().__init__(config, words)
        self.labels = list(labels)
        self.texts = texts
        self.tokenized = tokenized
        self.length = length
        self.several = several
        if several:
            self.trained_class = TrainedMultiLabel  # type: ignore[misc]  # depends on the data
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def open(cls, data: str, config: RunConfig) -> Corpus:
        """Also open a folder that has one folder or one list per label."""
        return open_corpus(data, label_folders=True)

    @classmethod
    def read(cls, document: Document, config: RunConfig) -> list[Example]:
        """Examples with renamed labels; examples that are left out have no label."""
        text = config.text
        read = read_labelled(
            document,
            phrases=text.phrases,
            columns=text.columns,
            label_separator=text.label_separator,
        )
        examples = [_renamed(example, config.text.rename) for example in read]
        if not any(example.all_labels for example in examples):
            raise InputError(f"{document.name}: text.rename leaves out every example")
        return examples

    @classmethod
    def splitter(cls, config: RunConfig) -> Splitter:
        """Every label keeps its share of each part; of several, the rarest."""
        return Splitter(config.text.split, labels=lambda example: example.all_labels)

    @classmethod
    def columns(
        cls, document: Document, examples: Sequence[Example], config: RunConfig
    ) -> dict[str, str]:
        columns = columns_of(document, config.text.columns)
        if "weight" in config.text.columns and "weight" not in columns:
            raise InputError(
                f"{document.name}: has no column {config.text.columns['weight']!r} for the weight; "
                "name one that it has"
            )
        taken = f"column {columns['label']}" if columns else "the beginning of every line"
        refuse_labels_like_texts(examples, f"{document.name}: ", f", taken from {taken}")
        return columns

    @classmethod
    def has_columns(cls, document: Document, columns: dict[str, str]) -> bool:
        return has_columns(document, columns)

    @classmethod
    def learned(cls, examples: Sequence[Example]) -> list[Example]:
        found = []
        for example in examples:
            found += [*example.phrases, replace(example, phrases=())]
        spread = any(example.phrases for example in examples)  # copies of whole texts stay
        return labelled([*dict.fromkeys(found)] if spread else found)

    @classmethod
    def sample(cls, example: Example) -> dict[str, str]:
        """White space inside a text would end it: a line is a text, a tab starts the second."""
        return {"texts": "\t".join(" ".join(text.split()) for text in example.texts)}

    @classmethod
    def learn(cls, examples: Sequence[Example], config: RunConfig) -> Self:
        labels = sorted({label for example in examples for label in example.all_labels})
        several = any(example.labels is not None for example in examples)
        if not labels:
            raise InputError("no training text has a label; text.rename leaves all of them out")
        if len(labels) == 1 and not several:
            raise InputError(
                f"only one class: every training text has the label {labels[0]!r}; give at least "
                "two labels"
            )
        refuse_labels_like_texts(examples)
        texts = _texts_of(examples)
        tokenized = is_tokenized(text for example in examples for text in example.texts)
        words = [split_text(text, tokenized) for example in examples for text in example.texts]
        length = sum(map(len, words)) / len(examples)
        known = learn_words(words, config)
        return cls(
            config,
            known,
            labels,
            texts=texts,
            tokenized=tokenized,
            length=length,
            several=several,
        )

    def batches(self, examples: Sequence[Example], batch_size: int, seed: int | None) -> Examples:
        examples = labelled(examples)
        if not examples:
            raise InputError("no validation text has a label; text.rename leaves all of them out")
        targets = [*(self.chosen(examples) if self.several else self.numbers(examples))]
        inputs = [self.index(part) for part in self.split([e.texts for e in examples])]
        # Class weights are for training. Validation is the error rate of the examples as they are.
        classes = {} if seed is None else self._class_weights(examples)
        weights = example_weights(examples, classes)
        return Examples(inputs, targets, batch_size=batch_size, seed=seed, weights=weights)

    def _class_weights(self, examples: Sequence[Example]) -> dict[str, float]:
        setting = self.config.training.class_weights
        if setting and self.several:
            raise InputError(
                "training.class_weights: does not apply to texts with several labels; leave it out"
            )
        if not isinstance(setting, str):
            return named_weights(setting, self.labels)
        return balanced_weights(examples) if setting == BALANCED else {}

    def numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """The labels by number; a label that training never saw has the next number: wrong."""
        if any(example.labels is not None for example in examples):
            raise InputError(
                "the data has several labels per text; this classifier was trained on one label "
                "for each"
            )
        unknown = len(self.labels)
        return np.array([self._numbers.get(e.label, unknown) for e in examples], dtype=np.int64)

    def chosen(self, examples: Sequence[Example]) -> np.ndarray:
        """Which labels each text has, (texts, 1, labels + 1); last: how many training never saw."""
        found = np.zeros((len(examples), 1, len(self.labels) + 1), dtype=np.float32)
        for row, example in zip(found[:, 0], examples, strict=True):
            for label in example.all_labels:
                row[self._numbers.get(label, -1)] += 1
        return found

    def calibrate(
        self, model: Classifier, valid: Sequence[Example], facts: dict[str, Any]
    ) -> dict[str, Any]:
        kind = TrainedMultiLabel if self.several else TrainedClassifier
        return kind(self, model, facts).fit_calibration(valid)

    def trivial(self, train: Sequence[Example], valid: Sequence[Example]) -> Trivial | None:
        if self.several:
            return None
        labels = [[example.label for example in labelled(part)] for part in (train, valid)]
        return most_frequent_label(*labels)

    def notes(self, examples: Sequence[Example]) -> list[str]:
        return unseen_notes(self.unseen(examples), "text", "label")

    def unseen(self, examples: Sequence[Example]) -> dict[str, int]:
        """Labels that training never saw, most frequent first, with their number of texts."""
        labels = [label for example in labelled(examples) for label in example.all_labels]
        unseen = Counter(label for label in labels if label not in self._numbers)
        return dict(unseen.most_common())

    def split(self, texts: Sequence[Sequence[str]]) -> list[list[list[str]]]:
        """The words of texts; for pairs, the words of all first texts, then of all second texts.

        An empty text, or a pair with an empty side, has no words.
        """
        for number, given in enumerate(texts, 1):
            if any(text.strip() for text in given) and len(given) != self.texts:
                wanted = "a text" if self.texts == 1 else "a pair of texts"
                how = "a tab separates two" if len(given) > 1 else "give two, separated by a tab"
                raise InputError(
                    f"example {number} has {len(given)} texts; this classifier labels {wanted} "
                    f"({how})"
                )
        whole = [all(text.strip() for text in given) for given in texts]
        return [
            [
                self._split(given[part]) if there else []
                for given, there in zip(texts, whole, strict=True)
            ]
            for part in range(self.texts)
        ]

    def _split(self, text: str) -> list[str]:
        """The words of a text; typed text is split like the training text."""
        if self.tokenized and is_typed(text):
            return self.form.split(text)
        return split_text(text, self.tokenized)

    def splitting(self) -> dict[str, Any]:
        return {"splits": "typed" if self.tokenized else "raw", "cuts": None}

    def build(self, examples: Any = None) -> Classifier:
        counts, labels = self.counts(), len(self.labels)
        return Classifier(
            self.config.model,
            counts,
            labels,
            texts=self.texts,
            words=self.length,
            language_model=self.language_model(),
            several=self.several,
        )

    def learn_at_once(
        self, model: Classifier, examples: Sequence[Example], seconds: float, told: Told
    ) -> None:
        """Count and fit the n-grams of the training texts."""
        if not self.config.model.ngrams:
            return
        told("fitting n-grams")
        examples = labelled(examples)
        sides = self.split([example.texts for example in examples])
        weights = example_weights(examples, self._class_weights(examples))
        learn_ngrams(
            [cast("NgramScores", part) for part in model.ngrams],
            [self._in_parts(texts) for texts in sides],
            torch.from_numpy(self.chosen(examples)[:, 0, :-1]),
            self.config.model.ngram_cost,
            weights=None if weights is None else torch.from_numpy(weights).float(),
            seconds=seconds,
        )

    def _in_parts(self, texts: Sequence[Sequence[str]]) -> Iterator[Sentences]:
        indexed = self.index(texts)
        for rows in np.array_split(np.arange(len(texts)), math.ceil(len(texts) / _READ)):
            yield indexed.batch(rows)

    def facts(self, examples: Sequence[Example]) -> dict[str, Any]:
        found = {
            "labels": dict(Counter(sorted(one for e in examples for one in e.all_labels))),
            "texts": self.texts,
            "tokenized": self.tokenized,
        }
        weights = self._class_weights(examples)
        return {**found, "class_weights": weights} if weights else found

    def to_data(self) -> dict[str, Any]:
        return {
            "words": self.words.to_data(),
            "labels": self.labels,
            "texts": self.texts,
            "tokenized": self.tokenized,
            "length": self.length,
            **({"several": True} if self.several else {}),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], config: RunConfig) -> Self:
        return cls(
            config,
            WordList.from_data(data["words"]),
            checked.texts(data["labels"], "labels"),
            texts=checked.whole(data["texts"], "texts", at_least=1),
            tokenized=checked.flag(data["tokenized"], "tokenized"),
            length=checked.number(data["length"], "length"),
            several=checked.flag(data.get("several", False), "several"),
        )


def refuse_labels_like_texts(examples: Sequence[Example], where: str = "", taken: str = "") -> None:
    """Refuse labels that are nearly as many as texts; `taken`: where they were read."""
    given = labelled(examples)
    labels = len({label for example in given for label in example.all_labels})
    if len(given) < _FEWEST_TEXTS or labels < _MOST_LABELS * len(given):
        return
    problem = (
        f"{where}{labels:,} different labels for {len(given):,} texts{taken}; a classifier needs "
        "several texts for each label"
    )
    raise InputError(
        f"{problem}. If this is not the label, name the columns: --columns text=…,label=…",
        in_python=f"{problem}. If this is not the label, name the columns of a table: "
        'overrides=["text.columns.text=…", "text.columns.label=…"]',
    )


def _renamed(example: Example, rename: dict[str, str]) -> Example:
    label = rename.get(example.label, example.label)
    phrases = tuple(_renamed(phrase, rename) for phrase in example.phrases)
    labels = example.labels
    if labels is not None:
        new = dict.fromkeys(rename.get(one, one) for one in labels)
        labels = tuple(one for one in new if one)
    return replace(example, label=label, phrases=phrases, labels=labels)


def _texts_of(examples: Sequence[Example]) -> int:
    """The number of texts per example; it must be the same for all."""
    first = examples[0]
    for example in examples:
        if len(example.texts) != len(first.texts):
            raise InputError(
                f"{first.texts[0]!r} has {len(first.texts)} texts and {example.texts[0]!r} has "
                f"{len(example.texts)}; give single texts or pairs, not both"
            )
    return len(first.texts)
