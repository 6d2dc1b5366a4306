"""A trained classifier: texts in, labels out, with the contribution of each word.

The contribution of a word is exact; it is computed by leaving the word out. For the chosen label y
and the words w_1 … w_T:

    contribution of w_t = log p(y | w_1 … w_T) - log p(y | … w_{t-1} w_{t+1} …)      in nats

A positive value supports the label. In a text of one word, the contribution is undefined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from elman.errors import InputError
from elman.evaluation.bootstrap import Measure, macro_f1_of, mean_of
from elman.evaluation.calibration import (
    Calibration,
    calibrate,
    fit_calibration,
    log_softmax,
    predict_labels,
)
from elman.evaluation.measures import (
    LabelMeasures,
    MeasureTable,
    Progress,
    Score,
    TaskMeasures,
    measure_labels,
    silent,
    unseen_notes,
)
from elman.models.classifier import Classifier
from elman.tasks.arguments import check_list, check_text
from elman.tasks.classification.mix import FEWEST, OPINIONS, UNFITTED, fit_mix, mix_in, mix_lines
from elman.tasks.classification.reader import Example, has_columns, labelled
from elman.tasks.sentence_task import TrainedSentenceTask
from elman.text.reader import Document

if TYPE_CHECKING:
    from elman.tasks.classification.task import Classification

Text = str | Sequence[str]  # of pairs, both


@dataclass(frozen=True)
class Classified:
    """The most probable label of a text, and the probabilities of all labels."""

    label: str
    probability: float
    probabilities: dict[str, float]  # of every label, the likeliest first


@dataclass(frozen=True)
class Contribution:
    """The contribution of a word to the chosen label."""

    word: str
    contribution: float | None  # nats; None where it is the only word of its text
    text: int  # of a pair: 1 or 2


@dataclass(frozen=True)
class ClassificationMeasures(TaskMeasures):
    """The measures of a classifier."""

    labels: LabelMeasures
    unseen: dict[str, int]  # labels that training never saw, and how many texts have them

    calibration: Calibration

    def rows(self) -> list[tuple[str, Any]]:
        *measures, count = self.labels.rows()
        return [*measures, *self.calibration.rows(), count]

    def footnotes(self) -> list[str]:
        return self.calibration.footnotes()

    def scores(self) -> dict[str, Score]:
        return self.labels.scores()

    def mistakes(self) -> list[tuple[str, str, int]]:
        return self.labels.mistakes()

    def notes(self) -> list[str]:
        return unseen_notes(self.unseen, "text", "label")

    def to_data(self) -> dict[str, Any]:
        return {
            **self.labels.to_data(),
            "unseen": self.unseen,
            "calibration": self.calibration.to_data(),
        }


class TrainedClassifier(TrainedSentenceTask):
    """A trained classifier with its vocabulary and labels."""

    about = "a classifier"
    confuses = True
    calibrates = True
    task: Classification
    model: Classifier

    def __init__(
        self, task: Classification, model: Classifier, facts: dict[str, Any], name: str = "model"
    ) -> None:
        super().__init__(task, model, facts, name)
        self._mix_as(facts.get("calibration", {}))

    def summary(self) -> list[str | MeasureTable]:
        return [*super().summary(), *mix_lines(self.facts)]

    def classify(self, texts: Iterable[Text], *, batch_size: int = 32) -> list[Classified]:
        """The label of each text, or pair of texts, and the probabilities of all labels."""
        found = []
        for number, one in enumerate(self.classify_lines(texts, batch_size=batch_size), 1):
            if one is None:
                raise InputError(f"text {number} is empty; leave it out")
            found.append(one)
        return found

    def classify_lines(
        self, texts: Iterable[Text], *, batch_size: int = 32, progress: Progress = silent
    ) -> list[Classified | None]:
        """Classify texts that may be empty, like lines of a file; an empty text gives None."""
        parts = self.task.split(checked_texts(texts))
        scores = self._scores(parts, batch_size, progress)
        probabilities = np.exp(log_softmax(scores / self.temperature))
        return [
            self._classified(row) if all(words) else None
            for row, *words in zip(probabilities, *parts, strict=True)
        ]

    def text_columns(self, document: Document, named: dict[str, str]) -> dict[str, str]:
        """The text columns of a table: `named`, or those of the training table."""
        given = named or self.config.text.columns or self.facts["data"].get("columns", {})
        texts = {role: column for role, column in given.items() if role.startswith("text")}
        return texts if named or (texts and has_columns(document, texts)) else {}

    def _classified(self, probabilities: np.ndarray) -> Classified:
        order = np.argsort(-probabilities, kind="stable")
        ranked = {self.task.labels[number]: float(probabilities[number]) for number in order}
        label, probability = next(iter(ranked.items()))
        return Classified(label, probability, ranked)

    def explain(self, text: Text, *, batch_size: int = 32) -> list[Contribution]:
        """The contribution of each word of a text, or pair, to its most probable label."""
        given = [words for (words,) in self.task.split(checked_texts([text]))]
        if not all(given):
            raise InputError("the text is empty; give some words to explain")
        places = [
            (part, place)
            for part, words in enumerate(given)
            if len(words) > 1
            for place in range(len(words))
        ]
        variants = [given, *(_without(given, part, place) for part, place in places)]
        parts = [[variant[part] for variant in variants] for part in range(len(given))]
        scores = log_softmax(self._scores(parts, batch_size) / self.temperature)
        chosen = scores[:, int(scores[0].argmax())]
        changes = dict(zip(places, (chosen[0] - chosen[1:]).tolist(), strict=True))
        return [
            Contribution(word, changes.get((part, place)), part + 1)
            for part, words in enumerate(given)
            for place, word in enumerate(words)
        ]

    def _scores_of(self, examples: Sequence[Example]) -> np.ndarray:
        return self._scores(self._words(examples))

    def _opinions_on(self, examples: Sequence[Example]) -> np.ndarray:
        """Scores (3, texts, labels) of network, n-grams and naive Bayes."""
        found = np.zeros((len(OPINIONS), len(examples), len(self.task.labels)))
        for rows, batch in self.in_batches(self._words(examples), 32):
            found[:, rows] = torch.stack(self.model.opinions(batch)).double().numpy()
        return found

    def _words(self, examples: Sequence[Example]) -> list[list[list[str]]]:
        """The words of texts, none of which may be empty."""
        parts = self.task.split([example.texts for example in examples])
        for number, words in enumerate(zip(*parts, strict=True), 1):
            if not all(words):
                raise InputError(f"text {number} is empty; leave it out")
        return parts

    def _scores(
        self, parts: list[list[list[str]]], batch_size: int = 32, progress: Progress = silent
    ) -> np.ndarray:
        """Scores (texts, labels) before the softmax, from the words of texts."""
        found = np.zeros((len(parts[0]), len(self.task.labels)))
        for rows, batch in self.in_batches(parts, batch_size):
            found[rows] = self.model.score(batch).double().numpy()
            progress(len(rows), len(found))
        return found

    def measure(self, examples: Sequence[Example]) -> ClassificationMeasures:
        """Measure on labelled examples; examples without a label are skipped."""
        examples = labelled(examples)
        scores = self._scores_of(examples)
        guessed = [self.task.labels[number] for number in scores.argmax(1)]
        measures = measure_labels([example.label for example in examples], guessed)
        predict = predict_labels(scores, self.task.numbers(examples))
        calibration = calibrate(predict, self.temperature, "texts")
        return ClassificationMeasures(measures, self.task.unseen(examples), calibration)

    def fit_calibration(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Facts about a mix and a temperature fitted on validation examples."""
        examples = labelled(examples)
        mix = self._fit_mix(examples)
        predict = predict_labels(self._scores_of(examples), self.task.numbers(examples))
        return fit_calibration(predict, len(examples)) | mix

    def _fit_mix(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Facts about the best mix of network, n-grams and naive Bayes, which is used from now on.

        Nothing if there are no n-grams, or too few examples.
        """
        found: dict[str, Any] = {}
        if self.model.ngrams and len(examples) >= FEWEST:
            choices = self._choices(self._opinions_on(examples), examples)
            found = fit_mix(*choices, several=self.task.several)
        self._mix_as(found)
        return found

    def _mix_as(self, facts: dict[str, Any]) -> None:
        """Use the mix of a calibration; without one, a fixed mix."""
        if self.model.ngrams:
            self.model.mix = mix_in(facts) or UNFITTED

    def _choices(
        self, scores: np.ndarray, examples: Sequence[Example]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores (3, N, K), and the number of the correct label of each text."""
        return scores, self.task.numbers(examples)

    def references(self, examples: Sequence[Example]) -> list[Any]:
        return [(example.texts, example.label) for example in labelled(examples)]

    def known_labels(self) -> set[str]:
        return {*self.task.labels}

    def measures_of(self, examples: Sequence[Example]) -> list[Measure]:
        examples = labelled(examples)
        right = [example.label for example in examples]
        guessed = [found.label for found in self.classify(example.texts for example in examples)]
        hits = [label == guess for label, guess in zip(right, guessed, strict=True)]
        return [
            Measure("accuracy", mean_of(hits)),
            Measure("macro F1", macro_f1_of(right, guessed)),
        ]


def checked_texts(texts: Iterable[Text]) -> list[tuple[str, ...]]:
    """Each text as a tuple: both texts of a pair, or the only one."""
    found = []
    for number, given in enumerate(check_list(texts, "texts", "texts")):
        parts = given if isinstance(given, tuple | list) else (given,)
        for part in parts:
            check_text(part, f"texts[{number}]")
        found.append(tuple(parts))
    return found


def _without(given: list[list[str]], part: int, place: int) -> list[list[str]]:
    """The texts, each with one word removed."""
    words = given[part]
    return [*given[:part], [*words[:place], *words[place + 1 :]], *given[part + 1 :]]
