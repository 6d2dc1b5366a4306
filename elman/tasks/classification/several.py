"""Classifiers of texts with any number of labels: a probability for each label (multi-label).

    scores (texts, labels) ── sigmoid(score / temperature) ── labels above the threshold

Micro F1 counts every label of every text; macro F1 is the mean over the labels; subset accuracy is
the share of texts whose labels are all right, with none missing and none too many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.bootstrap import Measure, mean_of, share_of
from elman.evaluation.calibration import Calibration, Predictions, calibrate, fit_calibration
from elman.evaluation.measures import (
    Progress,
    Score,
    TaskMeasures,
    make_score,
    silent,
    unseen_notes,
)
from elman.evaluation.mixing import as_two_labels
from elman.tasks.classification.reader import SEPARATOR, Example, labelled
from elman.tasks.classification.trained import Text, TrainedClassifier, checked_texts
from elman.tasks.question import Answer

_THRESHOLDS = np.linspace(0.05, 0.95, 91)  # tried on validation


@dataclass(frozen=True)
class MultiLabelled:
    """The labels of a text above the threshold, and the probabilities of all labels."""

    labels: list[str]  # the likeliest first
    probabilities: dict[str, float]  # of every label, the likeliest first


@dataclass(frozen=True)
class MultiLabelledTexts(Answer):
    """Every text with its labels; None for a text without words."""

    texts: Sequence[Text]
    found: list[MultiLabelled | None]
    labels: list[str]
    separator: str = SEPARATOR
    all: bool = False

    def to_data(self) -> dict[str, Any]:
        nothing: dict[str, Any] = {"labels": None, "probabilities": {}}
        return {
            "results": [
                {"text": text, **(nothing if one is None else vars(one))}
                for text, one in zip(self.texts, self.found, strict=True)
            ]
        }

    def lines(self) -> Iterable[str]:
        columns = self.labels if self.all else ["probabilities"]
        yield "\t".join(["labels", *columns, "text"])
        for text, one in zip(self.texts, self.found, strict=True):
            cells = [""] * (1 + len(columns))
            if one is not None:
                shown = [f"{one.probabilities[name]:.4f}" for name in self._named(one)]
                shares = shown if self.all else [self.separator.join(shown)]
                cells = [self.separator.join(one.labels), *shares]
            parts = [text] if isinstance(text, str) else text
            yield "\t".join([*cells, *(" ".join(part.split()) for part in parts)])

    def _named(self, one: MultiLabelled) -> list[str]:
        return self.labels if self.all else one.labels

    def notes(self) -> list[str]:
        empty, texts = self.found.count(None), len(self.found)
        return [f"{empty:,} of {texts:,} texts are empty and get no label"] if empty else []


@dataclass(frozen=True)
class MultiLabelMeasures(TaskMeasures):
    """The measures of texts with several labels."""

    all: Score
    macro_f1: float  # the mean over all labels that occur or are predicted
    subset_accuracy: float
    labels: dict[str, Score]
    count: int
    threshold: float
    unseen: dict[str, int]  # labels that training never saw, and how many texts have them
    calibration: Calibration

    def rows(self) -> list[tuple[str, Any]]:
        return [
            ("micro F1", self.all.f1),
            ("precision", self.all.precision),
            ("recall", self.all.recall),
            ("macro F1", self.macro_f1),
            ("subset accuracy", self.subset_accuracy),
            *self.calibration.rows(),
            ("labels", self.all.count),
            ("examples", self.count),
        ]

    def scores(self) -> dict[str, Score]:
        return self.labels

    def footnotes(self) -> list[str]:
        threshold = f"labels with a probability above {self.threshold:.2g} are predicted"
        return [threshold, *self.calibration.footnotes()]

    def notes(self) -> list[str]:
        return unseen_notes(self.unseen, "text", "label")

    def to_data(self) -> dict[str, Any]:
        return {
            "micro_f1": self.all.f1,
            "precision": self.all.precision,
            "recall": self.all.recall,
            "macro_f1": self.macro_f1,
            "subset_accuracy": self.subset_accuracy,
            "accuracy": self.subset_accuracy,
            "count": self.count,
            "labels": {label: vars(score) for label, score in self.labels.items()},
            "threshold": self.threshold,
            "unseen": self.unseen,
            "calibration": self.calibration.to_data(),
        }


def measure_several(
    right: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]]
) -> tuple[Score, dict[str, Score], float]:
    """The score of all labels, the score by label, and the subset accuracy."""
    in_truth = Counter(label for labels in right for label in labels)
    in_guesses = Counter(label for labels in guessed for label in labels)
    pairs = [*zip(right, guessed, strict=True)]
    hits = Counter(label for labels, found in pairs for label in {*labels} & {*found})
    by_label = {
        label: make_score(hits[label], in_truth[label], in_guesses[label])
        for label in sorted({*in_truth, *in_guesses})
    }
    every = make_score(hits.total(), in_truth.total(), in_guesses.total())
    same = sum({*labels} == {*found} for labels, found in pairs)
    return every, by_label, same / max(len(right), 1)


class TrainedMultiLabel(TrainedClassifier):
    """A trained classifier of texts with several labels."""

    about = "a classifier of texts with several labels"
    confuses = False

    @property
    def threshold(self) -> float:
        """The probability above which a label is predicted."""
        fixed: float = self.config.model.threshold or 0.5
        return float(self.facts.get("calibration", {}).get("threshold", fixed))

    def references(self, examples: Sequence[Example]) -> list[Any]:
        return [(example.texts, example.all_labels) for example in labelled(examples)]

    def measures_of(self, examples: Sequence[Example]) -> list[Measure]:
        examples = labelled(examples)
        found = self.label(example.texts for example in examples)
        pairs = [({*ex.all_labels}, {*one.labels}) for ex, one in zip(examples, found, strict=True)]
        hits = [2 * len(right & guessed) for right, guessed in pairs]
        every = [len(right) + len(guessed) for right, guessed in pairs]
        return [
            Measure("micro F1", share_of(hits, every)),
            Measure("subset accuracy", mean_of([right == guessed for right, guessed in pairs])),
        ]

    def label(self, texts: Iterable[Text], *, batch_size: int = 32) -> list[MultiLabelled]:
        """The labels of each text, or pair of texts, and the probabilities of all labels."""
        found = []
        for number, one in enumerate(self.label_lines(texts, batch_size=batch_size), 1):
            if one is None:
                raise InputError(f"text {number} is empty; leave it out")
            found.append(one)
        return found

    def label_lines(
        self, texts: Iterable[Text], *, batch_size: int = 32, progress: Progress = silent
    ) -> list[MultiLabelled | None]:
        """Label texts that may be empty, like lines of a file; an empty text gives None."""
        parts = self.task.split(checked_texts(texts))
        shares = _sigmoid(self._scores(parts, batch_size, progress) / self.temperature)
        return [
            self._labelled(row) if all(words) else None
            for row, *words in zip(shares, *parts, strict=True)
        ]

    def classify_lines(self, *arguments: Any, **options: Any) -> Any:
        raise InputError(f"{self.name}: its texts have several labels; call `label` instead")

    def _labelled(self, probabilities: np.ndarray) -> MultiLabelled:
        order = np.argsort(-probabilities, kind="stable")
        ranked = {self.task.labels[number]: float(probabilities[number]) for number in order}
        return MultiLabelled([one for one, p in ranked.items() if p > self.threshold], ranked)

    def measure(self, examples: Sequence[Example]) -> Any:
        """Measure on labelled examples."""
        examples = labelled(examples)
        scores = self._scores_of(examples)
        guessed = [self._labelled(row).labels for row in _sigmoid(scores / self.temperature)]
        right = [example.all_labels for example in examples]
        every, by_label, subset = measure_several(right, guessed)
        return MultiLabelMeasures(
            all=every,
            macro_f1=sum(one.f1 for one in by_label.values()) / max(len(by_label), 1),
            subset_accuracy=subset,
            labels=by_label,
            count=len(examples),
            threshold=self.threshold,
            unseen=self.task.unseen(examples),
            calibration=calibrate(self._predictions(examples, scores), self.temperature, "labels"),
        )

    def fit_calibration(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Facts about a mix, a temperature, and a threshold if asked for, fitted on validation."""
        examples = labelled(examples)
        mix = self._fit_mix(examples)
        scores = self._scores_of(examples)
        right = self.task.chosen(examples)[:, 0, :-1] > 0
        separated = bool((right == (scores > 0)).all())
        predict = self._predictions(examples, scores)
        facts = fit_calibration(predict, len(examples), separated=separated) | mix
        if self.config.model.threshold == 0:
            facts["threshold"] = fit_threshold(_sigmoid(scores / facts["temperature"]), right)
        return facts

    def _choices(
        self, scores: np.ndarray, examples: Sequence[Example]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Every label of every text is a choice between no and yes."""
        return as_two_labels(scores, self.task.chosen(examples)[:, 0, :-1] > 0)

    def _predictions(
        self, examples: Sequence[Example], scores: np.ndarray
    ) -> Callable[[float], Predictions]:
        """The probability of every label of every text, and whether the text has it."""
        right = self.task.chosen(examples)[:, 0, :-1] > 0

        def predict(temperature: float) -> Predictions:
            signed = np.where(right, scores, -scores) / temperature
            nats = np.logaddexp(0.0, -signed).sum()
            return Predictions(float(nats), _sigmoid(scores / temperature).ravel(), right.ravel())

        return predict


def fit_threshold(probabilities: np.ndarray, right: np.ndarray) -> float:
    """The threshold with the best micro F1; of equally good ones, the nearest to one half."""
    found = []
    for threshold in _THRESHOLDS:
        guessed = probabilities > threshold
        f1 = make_score(int((guessed & right).sum()), int(right.sum()), int(guessed.sum())).f1
        found.append((f1, -abs(threshold - 0.5), float(threshold)))
    return max(found)[2]


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0.0, -scores))
