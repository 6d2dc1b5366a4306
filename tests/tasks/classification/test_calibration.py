"""The temperature of a classifier and of a tagger: fitted, kept, applied; labels stay."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from films import WORDS, draw_texts, train_classifier, write_texts
from tagged import tagged_sentences, train_tagger

import elman
from elman.tasks.saved_runs import check_facts
from elman.tasks.task import resume


def noisy(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts of which a fifth has the other label."""
    drawn = np.random.default_rng(seed)
    labels = [*WORDS]
    return [
        (labels[1 - labels.index(label)] if drawn.random() < 0.2 else label, text)
        for label, text in draw_texts(count, seed)
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("noisy")
    data = write_texts(place / "data", train=noisy(150, 0), dev=noisy(150, 1), test=noisy(150, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        train_classifier(data, "training.epochs=20", out=place / "run")
    return place / "run"


def test_it_is_fitted_and_kept(run: Path) -> None:
    trained: Any = elman.load(run)
    found = trained.facts["calibration"]
    assert found["examples"] == 150
    assert found["temperature"] == trained.temperature != 1
    assert any(
        "probabilities calibrated on 150 validation texts" in str(s) for s in trained.summary()
    )


def test_probabilities_are_those_of_the_divided_scores(run: Path) -> None:
    trained: Any = elman.load(run)
    texts = [text for _, text in draw_texts(20, 5)]
    scores = trained._scores(trained.task.split([(text,) for text in texts]))
    expected = np.exp(scores / trained.temperature)
    expected /= expected.sum(1, keepdims=True)
    found = trained.classify(texts)
    for one, row in zip(found, expected, strict=True):
        shares = [one.probabilities[label] for label in trained.task.labels]
        assert shares == pytest.approx(row.tolist())
        assert one.label == trained.task.labels[int(row.argmax())]


def test_labels_do_not_change_and_runs_without_it_have_temperature_1(run: Path) -> None:
    calibrated: Any = elman.load(run)
    old: Any = elman.load(run)
    del old.facts["calibration"]
    texts = [text for _, text in draw_texts(30, 6)]
    assert old.temperature == 1
    assert [o.label for o in old.classify(texts)] == [o.label for o in calibrated.classify(texts)]
    assert [o.probability for o in old.classify(texts)] != [
        o.probability for o in calibrated.classify(texts)
    ]


def test_the_measures_have_both_errors(run: Path) -> None:
    trained: Any = elman.load(run)
    data = str(run.parent / "data")
    found = trained.evaluate(data)
    by_hand = trained.classify([text for _, text in noisy(150, 2)])
    labels = [label for label, _ in noisy(150, 2)]
    gaps = 0.0
    for number in range(15):
        inside = [
            (one.probability, one.label == label)
            for one, label in zip(by_hand, labels, strict=True)
            if number / 15 < one.probability <= (number + 1) / 15
        ]
        gaps += abs(sum(p for p, _ in inside) - sum(right for _, right in inside))
    assert dict(found.rows())["calibration error"] == pytest.approx(gaps / 150)
    assert found.to_data()["calibration"]["temperature"] == trained.temperature
    assert "15 bins" in found.footnotes()[0]
    assert found.main()[0] == "accuracy"


def test_small_validation_leaves_it_at_1(trained: Any) -> None:
    assert trained.facts["calibration"] == {"temperature": 1.0, "examples": 20}
    assert trained.temperature == 1
    line = "probabilities not calibrated: 20 validation texts, fewer than 100"
    assert trained.summary()[-1] == line


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf"), "2"])
def test_a_forged_temperature_is_refused(run: Path, temperature: Any) -> None:
    facts = elman.load(run).facts
    with pytest.raises(ValueError, match="temperature"):
        check_facts({**facts, "calibration": {"temperature": temperature}})


def test_resuming_gives_the_same_temperature(run: Path) -> None:
    before = elman.load(run).facts["calibration"]
    resume(run)
    assert elman.load(run).facts["calibration"] == before


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_a_tagger_has_one_too(tmp_path: Path, output: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for seed, split in enumerate(("train", "valid", "test")):
        text = tagged_sentences(120, seed)
        if split == "valid":  # otherwise it makes no errors
            text = text.replace("sees O", "sees B-LOC", 30)
        (folder / f"{split}.txt").write_text(text)
    trained = train_tagger(folder, None, f"model.output={output}", "training.epochs=2")
    found = trained.facts["calibration"]
    assert found["examples"] == 120
    assert trained.temperature > 1
    predict = trained._compare(trained.examples(str(folder), "valid")).predict
    lowest = predict(trained.temperature).nats
    assert all(lowest < predict(other * trained.temperature).nats for other in (0.95, 1.05))
    words = [["Ann", "sees", "Bob", "."]]
    plain = train_tagger(folder, None, f"model.output={output}", "training.epochs=2")
    del plain.facts["calibration"]
    assert plain.tag(words) == trained.tag(words)
    assert plain.probabilities(words) != trained.probabilities(words)
    assert trained.evaluate(str(folder)).calibration.temperature == trained.temperature
