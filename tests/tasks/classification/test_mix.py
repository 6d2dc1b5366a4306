"""The mix of network, n-grams and naive Bayes: fitted on validation, kept, applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from films import draw_texts, train_classifier, write_texts
from outcome import differences, outcome
from stopping import stop_at

import elman
from elman.evaluation.calibration import log_softmax
from elman.tasks.classification.mix import OPINIONS, UNFITTED, fit_mix
from elman.tasks.task import resume
from elman.training.loop import Stopped

NGRAMS = ("model.ngrams=512", "training.epochs=3")


def noisy(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts of which a fifth has the other label."""
    drawn = np.random.default_rng(seed)
    other = {"good": "bad", "bad": "good"}
    texts = draw_texts(count, seed)
    return [(other[label] if drawn.random() < 0.2 else label, text) for label, text in texts]


@pytest.fixture(autouse=True, scope="module")
def _without_curves() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mix")
    write_texts(place / "data", train=noisy(60, 0), valid=noisy(120, 1))
    train_classifier(str(place / "data"), *NGRAMS, out=place / "run")
    return place / "run"


def scores_of(trained: Any, texts: list[str]) -> np.ndarray:
    """(3, texts, labels)."""
    batch = trained.task.index([text.split() for text in texts]).batch(np.arange(len(texts)))
    return np.stack([part.detach().double().numpy() for part in trained.model.opinions((batch,))])


def test_it_is_fitted_kept_and_printed(run: Path) -> None:
    trained: Any = elman.load(run)
    found = trained.facts["calibration"]
    assert trained.model.mix == tuple(found[name] for name in OPINIONS)
    assert max(trained.model.mix) > 0
    assert min(trained.model.mix) >= 0
    (line,) = [line for line in trained.summary() if "scores mixed" in str(line)]
    assert f"naive Bayes × {found['naive_bayes']:.2g}; accuracy" in line


def test_probabilities_are_those_of_the_mix(run: Path) -> None:
    trained: Any = elman.load(run)
    texts = [text for _, text in draw_texts(20, 5)]
    mixed = np.tensordot(trained.model.mix, scores_of(trained, texts), 1)
    expected = np.exp(log_softmax(mixed / trained.temperature))
    for one, row in zip(trained.classify(texts), expected, strict=True):
        shares = [one.probabilities[label] for label in trained.task.labels]
        assert shares == pytest.approx(row.tolist(), abs=1e-6)


def test_the_accuracy_after_it_is_the_one_of_the_run(run: Path) -> None:
    trained: Any = elman.load(run)
    measured = trained.evaluate(str(run.parent / "data"), split="valid").main()[1]
    assert measured == trained.facts["calibration"]["accuracy_after"]
    trained.model.mix = (1.0, 0.0, 0.0)  # the network alone
    measured = trained.evaluate(str(run.parent / "data"), split="valid").main()[1]
    assert measured == trained.facts["calibration"]["accuracy_before"]


def test_the_validation_result_is_that_of_the_mix(run: Path) -> None:
    """And so is the comparison with a trivial answer."""
    facts = elman.load(run).facts
    error = 1 - facts["calibration"]["accuracy_after"]
    assert facts["calibration"]["accuracy_before"] != facts["calibration"]["accuracy_after"]
    assert facts["validation"]["error"] == pytest.approx(error)
    assert facts["trivial"]["useless"] == (error >= facts["trivial"]["error"])


def test_a_resumed_run_is_mixed_alike(run: Path, tmp_path: Path) -> None:
    data = str(run.parent / "data")
    with stop_at([9]), pytest.raises(Stopped):
        train_classifier(data, *NGRAMS, out=tmp_path / "stopped")
    resume(tmp_path / "stopped")
    assert differences(outcome(run), outcome(tmp_path / "stopped")) == []


def test_early_stopping_looks_at_the_network_alone(run: Path, tmp_path: Path) -> None:
    data = str(run.parent / "data")
    train_classifier(data, *NGRAMS, out=tmp_path / "longer")
    resume(tmp_path / "longer", overrides=["training.epochs=4"])
    kept: Any = elman.load(tmp_path / "longer")
    kept.model.mix = None
    found = 1 - kept.evaluate(data, split="valid").main()[1]
    judged = [record["valid_error"] for record in kept.history() if "valid_error" in record]
    assert min(judged) == pytest.approx(found)


def test_few_validation_texts_leave_a_fixed_mix(run: Path, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=noisy(60, 0), valid=noisy(19, 1))
    trained = train_classifier(data, *NGRAMS)
    assert trained.model.mix == UNFITTED
    assert "network" not in trained.facts["calibration"]


def test_without_n_grams_there_is_nothing_to_mix(run: Path) -> None:
    trained = train_classifier(str(run.parent / "data"), "training.epochs=1")
    assert trained.model.mix is None


def test_texts_with_several_labels_are_mixed_too(tmp_path: Path) -> None:
    drawn = [
        (f"{label}|{'short' if len(text) < 20 else 'long'}", text) for label, text in noisy(180, 0)
    ]
    data = write_texts(tmp_path / "data", train=drawn[:60], valid=drawn[60:])
    options = [*NGRAMS, "text.label_separator=|"]
    trained: Any = elman.train(
        "classifier",
        data=data,
        overrides=["model.hidden_size=6", "model.embedding_size=8", *options],
    )
    assert max(trained.model.mix) > 0
    fitted = trained.facts["calibration"]
    assert trained.facts["validation"]["label_error"] == pytest.approx(1 - fitted["f1_after"])
    assert trained.evaluate(data, split="valid").main()[1] == pytest.approx(fitted["f1_after"])
    assert any("micro F1" in str(line) for line in trained.summary())
    (found,) = trained.label(["a warm film ."])
    mixed = np.tensordot(trained.model.mix, scores_of(trained, ["a warm film ."]), 1)[0]
    expected = 1 / (1 + np.exp(-mixed / trained.temperature))
    shares = [found.probabilities[label] for label in trained.task.labels]
    assert shares == pytest.approx(expected.tolist(), abs=1e-6)


def test_scores_without_errors_are_mixed_too() -> None:
    scores = np.array([[[2.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.0]]])
    found = fit_mix(scores, np.array([0]))
    assert found["accuracy_before"] == found["accuracy_after"] == 1
    assert max(found[name] for name in OPINIONS) > 1


def test_scores_that_say_nothing_are_not_mixed() -> None:
    assert fit_mix(np.zeros((3, 4, 2)), np.array([0, 1, 0, 1])) == {}
