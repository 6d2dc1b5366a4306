"""Calibration: of the predictions with probability 0.8, are 80 % right?

    ECE = Σ_b n_b / n · |accuracy_b - mean confidence_b|      over 15 bins of equal width

The expected calibration error (ECE) compares the confidence of predictions, the probability of the
predicted label, with their accuracy. A temperature T divides all scores before the softmax: T > 1
makes probabilities less extreme, and the order of the labels stays the same. It is fitted on
validation by minimising the negative log-likelihood (Guo et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

BINS = 15
FEWEST = 100  # validation examples needed to fit a temperature
_RANGE, _WIDE = (0.1, 10.0), (1e-3, 1e3)  # of temperatures; if the best one is at an end
_AT_END = 1.01  # times the end
_STEPS = 24  # of the search: the range shrinks to 1e-5 of it
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Bin:
    """The predictions whose confidence is above `low` and at most `high`."""

    low: float
    high: float
    predictions: int
    confidence: float | None  # their mean; None for an empty bin
    share_right: float | None


@dataclass(frozen=True)
class Reliability:
    """Accuracy by confidence."""

    bins: list[Bin]

    @property
    def error(self) -> float:
        """The expected calibration error."""
        total = sum(one.predictions for one in self.bins)
        gaps = [
            one.predictions * abs(one.share_right - one.confidence)
            for one in self.bins
            if one.share_right is not None and one.confidence is not None
        ]
        return sum(gaps) / max(total, 1)


def measure_reliability(confidences: np.ndarray, correct: np.ndarray) -> Reliability:
    """The accuracy of predictions in 15 bins; `correct`: whether each is right."""
    places = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    bins = []
    for number in range(BINS):
        own = places == number
        count = int(own.sum())
        confidence = float(confidences[own].mean()) if count else None
        accuracy = float(correct[own].mean()) if count else None
        bins.append(Bin(number / BINS, (number + 1) / BINS, count, confidence, accuracy))
    return Reliability(bins)


@dataclass(frozen=True)
class Calibration:
    """Reliability on a dataset, with and without the temperature of a run."""

    temperature: float
    reliability: Reliability  # of the probabilities that users see
    uncalibrated: Reliability  # with temperature 1
    unit: str = "predictions"  # what the bins count: texts, words, labels

    def rows(self) -> list[tuple[str, Any]]:
        rows: list[tuple[str, Any]] = [("calibration error", self.reliability.error)]
        if self.temperature != 1:
            rows.append(("calibration error before", self.uncalibrated.error))
        return rows

    def footnotes(self) -> list[str]:
        fitted = "temperature 1, not fitted"
        if self.temperature != 1:
            fitted = f"before and after temperature {self.temperature:.3g}, fitted on validation"
        return [f"calibration error: expected calibration error, {BINS} bins; {fitted}"]

    def to_data(self) -> dict[str, Any]:
        return {
            "bins": BINS,
            "temperature": self.temperature,
            "error": self.reliability.error,
            "error_before": self.uncalibrated.error,
            "reliability": [vars(one) for one in self.reliability.bins],
            "reliability_before": [vars(one) for one in self.uncalibrated.bins],
        }


@dataclass(frozen=True)
class Predictions:
    """What a temperature changes: predictions on a dataset at temperature 1, or at another."""

    nats: float  # the negative log-likelihood of the correct labels
    confidences: np.ndarray  # the probabilities of the predicted labels
    correct: np.ndarray  # whether each is right


def fit_calibration(
    predict: Callable[[float], Predictions], examples: int, *, separated: bool = False
) -> dict[str, Any]:
    """Fit a temperature on validation; return facts about it for the run.

    `predict`: the predictions at a temperature; `examples`: the number of validation examples;
    `separated`: whether there are no errors, if that is not clear from the predictions.
    With fewer than 100, or without any error, the temperature stays 1: any smaller temperature
    would raise the likelihood of predictions that are all correct.
    """
    facts: dict[str, Any] = {"temperature": 1.0, "examples": examples}
    if examples < FEWEST:
        return facts
    before = predict(1.0)
    if separated or before.correct.all():
        return facts
    temperature = search(lambda value: predict(value).nats)
    after = predict(temperature)
    errors = [measure_reliability(one.confidences, one.correct).error for one in (before, after)]
    return facts | {"temperature": temperature, "error_before": errors[0], "error_after": errors[1]}


def search(nats: Callable[[float], float]) -> float:
    """The temperature with the lowest negative log-likelihood."""
    found = _search_between(nats, *_RANGE)
    inside = _RANGE[0] * _AT_END < found < _RANGE[1] / _AT_END
    return found if inside else _search_between(nats, *_WIDE)


def _search_between(nats: Callable[[float], float], lowest: float, highest: float) -> float:
    """Golden-section search. The likelihood is convex in 1/T, so there is one minimum."""
    low, high = math.log(lowest), math.log(highest)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = nats(math.exp(left)), nats(math.exp(right))
    for _ in range(_STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = nats(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = nats(math.exp(right))
    return math.exp((low + high) / 2)


def calibrate(
    predict: Callable[[float], Predictions], temperature: float, unit: str = "predictions"
) -> Calibration:
    """Measure the calibration of a run with this temperature."""
    found = [predict(value) for value in dict.fromkeys((temperature, 1.0))]
    measured = [measure_reliability(one.confidences, one.correct) for one in found]
    return Calibration(temperature, measured[0], measured[-1], unit)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Log probabilities (N, K) from scores."""
    shifted = scores - scores.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def predict_labels(scores: np.ndarray, right: np.ndarray) -> Callable[[float], Predictions]:
    """Predictions by temperature, from scores (N, K) and correct labels (N,).

    A label that training never saw has a number of K or more: it counts as wrong, without nats.
    """
    seen = right < scores.shape[1]
    correct = scores.argmax(1) == right

    def predict(temperature: float) -> Predictions:
        log_probs = log_softmax(scores / temperature)
        nats = -log_probs[seen, right[seen]].sum()
        return Predictions(float(nats), np.exp(log_probs.max(1)), correct)

    return predict


def calibration_lines(facts: Mapping[str, Any], unit: str) -> list[str]:
    """The line about calibration at the end of a training; `unit`: texts, sentences."""
    found = facts.get("calibration")
    if not found:
        return []
    examples = f"{found['examples']:,} validation {unit}"
    if "error_after" in found:
        return [
            f"probabilities calibrated on {examples}: temperature {found['temperature']:.3g}, "
            f"calibration error {found['error_before']:.4f} → {found['error_after']:.4f}"
        ]
    reason = f"fewer than {FEWEST}" if found["examples"] < FEWEST else "no errors"
    return [f"probabilities not calibrated: {examples}, {reason}"]
