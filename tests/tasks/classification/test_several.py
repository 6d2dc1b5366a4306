"""Texts with several labels: reading, training, measures by hand, answers, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from films import SMALL

import elman
from elman.cli import run
from elman.errors import InputError
from elman.tasks.classification.reader import read_labelled
from elman.tasks.classification.several import TrainedMultiLabel, fit_threshold, measure_several
from elman.text.reader import Document

WORDS = {"warm": "kind", "fast": "quick", "loud": "noisy"}


def draw(count: int, seed: int) -> list[tuple[str, list[str]]]:
    """A word for every label of the text, among others; some texts have no label."""
    drawn = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        labels = [label for label in WORDS if drawn.random() < 0.4]
        words = [*(WORDS[label] for label in labels), "the", "film", "it"]
        drawn.shuffle(words)
        found.append((" ".join(words), labels))
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("several")
    (place / "json").mkdir()
    (place / "table").mkdir()
    for seed, (split, count) in enumerate({"train": 200, "dev": 120, "test": 50}.items()):
        texts = draw(count, seed)
        if split == "dev":  # some errors, so that there is something to calibrate
            texts = [
                (text, labels[1:]) if n % 9 == 0 else (text, labels)
                for n, (text, labels) in enumerate(texts)
            ]
        lines = [json.dumps({"text": text, "labels": labels}) for text, labels in texts]
        (place / "json" / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
        rows = [f"{text}\t{'|'.join(labels)}" for text, labels in texts]
        (place / "table" / f"{split}.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    return place


def train(data: Path, *overrides: str, **options: Any) -> TrainedMultiLabel:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        settings = [*SMALL, "training.epochs=12", "training.min_steps=0", *overrides]
        trained = elman.train("classifier", data=str(data), overrides=settings, **options)
    assert isinstance(trained, TrainedMultiLabel)
    return trained


@pytest.fixture(scope="module")
def trained(place: Path) -> TrainedMultiLabel:
    train(place / "json", out=place / "run")
    loaded = elman.load(place / "run")
    assert isinstance(loaded, TrainedMultiLabel)
    return loaded


def test_it_learns_and_is_loaded_again(trained: TrainedMultiLabel, place: Path) -> None:
    found = trained.evaluate(str(place / "json"))
    assert found.main() == ("micro F1", found.to_data()["micro_f1"])
    assert found.main()[1] > 0.95
    assert found.to_data()["subset_accuracy"] > 0.9
    assert set(found.scores()) == set(WORDS)
    assert trained.facts["task"]["labels"].keys() == WORDS.keys()
    assert "label_error" in trained.facts["validation"]
    assert any("validation micro F1 of labels" in str(line) for line in trained.summary())


def test_labels_are_those_above_the_threshold(trained: TrainedMultiLabel) -> None:
    both, none = trained.label(["the kind film it quick", "the film it"])
    assert sorted(both.labels) == ["fast", "warm"]
    assert none.labels == []
    assert set(both.probabilities) == set(WORDS)
    assert all((p > 0.5) == (label in both.labels) for label, p in both.probabilities.items())


def test_the_probability_is_a_calibrated_sigmoid(trained: TrainedMultiLabel) -> None:
    assert trained.temperature != 1
    text = "the kind film it"
    scores = trained._scores(trained.task.split([(text,)]))[0]
    (found,) = trained.label([text])
    for label, score in zip(trained.task.labels, scores, strict=True):
        assert found.probabilities[label] == pytest.approx(
            1 / (1 + np.exp(-score / trained.temperature))
        )


def test_a_table_with_a_separator(place: Path) -> None:
    trained = train(place / "table", "text.label_separator=|", "model.threshold=0")
    assert trained.task.labels == sorted(WORDS)
    assert 0 < trained.threshold < 1
    assert trained.threshold == trained.facts["calibration"]["threshold"]
    assert trained.evaluate(str(place / "table")).main()[1] > 0.9


def test_measures_by_hand() -> None:
    right = [["a", "b"], ["a"], []]
    guessed = [["a"], ["a", "b"], []]
    every, by_label, subset = measure_several(right, guessed)
    # a: twice right. b: once missed, once too many. Micro: 2 hits of 3 true and 3 predicted.
    assert (every.precision, every.recall, every.f1) == (2 / 3, 2 / 3, 2 / 3)
    assert (by_label["a"].f1, by_label["b"].f1) == (1, 0)
    assert subset == 1 / 3


def test_validation_counts_labels_that_training_never_saw(trained: TrainedMultiLabel) -> None:
    from elman.tasks.classification.reader import Example

    examples = [Example(("the kind film",), labels=("warm", "new"))]
    batches = trained.task.batches(examples, 1, None)
    loss, _ = trained.model.judge(batches.next())  # type: ignore[arg-type]
    # True: warm and new. Predicted: warm. 1 - F1 = 1 / 3.
    assert (float(loss.nats), loss.tokens) == (1.0, 3)
    measured = trained.measure(examples)
    assert measured.all.f1 == pytest.approx(2 / 3)
    assert "not seen in training (new)" in measured.notes()[0]


def test_the_best_threshold() -> None:
    probabilities = np.array([[0.4, 0.1], [0.35, 0.2], [0.3, 0.1]])
    right = np.array([[True, False], [True, False], [False, False]])
    assert 0.3 <= fit_threshold(probabilities, right) < 0.35


def test_reading() -> None:
    lines = ('{"text": "x", "labels": ["b", "a", "b"]}', '{"text": "y", "labels": []}')
    read = read_labelled(Document("a.jsonl", "\n".join([*lines, '{"text": "z", "labels": "c"}'])))
    assert [one.labels for one in read] == [("b", "a"), (), ("c",)]
    rows = read_labelled(Document("a.csv", "text,label\nx y,a;b\nz y,\n"), label_separator=";")
    assert [one.labels for one in rows] == [("a", "b"), ()]
    with pytest.raises(InputError, match="line 1: the labels must be a list of texts"):
        read_labelled(Document("a.jsonl", '{"text": "x", "labels": [["b"]]}\n'))
    with pytest.raises(InputError, match="label_separator needs a"):
        read_labelled(Document("a.txt", "pos a film\n"), label_separator="|")


def test_labels_in_the_form_of_fasttext() -> None:
    lines = "__label__b  __label__a x __label__c\n__label__a y z\n"
    read = read_labelled(Document("a.txt", lines))
    assert [one.labels for one in read] == [("__label__b", "__label__a"), ("__label__a",)]
    assert [one.texts for one in read] == [("x __label__c",), ("y z",)]
    (one,) = read_labelled(Document("a.txt", "__label__a y z\n"))
    assert (one.label, one.labels) == ("__label__a", None)
    with pytest.raises(InputError, match="line 1: has a label but no text"):
        read_labelled(Document("a.txt", "__label__a __label__b\n"))


def test_commands(trained: TrainedMultiLabel, place: Path, capsys: Any) -> None:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments])
        return code, *capsys.readouterr()

    place_of_run, data = str(place / "run"), str(place / "json")
    _, out, _ = call("classify", place_of_run, "--text", "the kind quick film it")
    header, row = (line.split("\t") for line in out.splitlines())
    assert header == ["labels", "probabilities", "text"]
    assert sorted(row[0].split("|")) == ["fast", "warm"]
    assert all(0.5 < float(share) <= 1 for share in row[1].split("|"))
    _, out, _ = call("classify", place_of_run, "--text", "the film it", "--all")
    assert out.splitlines()[0].split("\t") == ["labels", *sorted(WORDS), "text"]
    _, out, _ = call("evaluate", place_of_run, "--data", data)
    assert "micro F1" in out
    assert "subset accuracy" in out
    assert "calibration error before" in out
    for refused in (
        ("evaluate", place_of_run, "--data", data, "--confusion"),
        ("classify", place_of_run, "--text", "kind", "--explain"),
    ):
        code, _, err = call(*refused)
        assert code == 2
        assert "does not apply" in err


def test_the_server_gives_the_same(trained: TrainedMultiLabel, place: Path) -> None:
    from elman.studio.app import build
    from elman.studio.served import load_served

    with TestClient(
        build(load_served([str(place / "run")])), base_url="http://127.0.0.1:8000"
    ) as client:
        found = client.post("/v1/classify", json={"texts": ["the kind film it", ""]})
    assert found.status_code == 200, found.text
    first, empty = found.json()["results"]
    assert first["labels"] == ["warm"]
    assert empty == {"text": "", "labels": None, "probabilities": {}}


def test_what_does_not_apply_says_so(trained: TrainedMultiLabel, place: Path) -> None:
    with pytest.raises(InputError, match="call `label` instead"):
        trained.classify(["kind"])
    with pytest.raises(InputError, match=r"trained_.label"):
        elman.Classifier.load(place / "run").predict(["kind"])
    with pytest.raises(InputError, match=r"y\[0\] has several labels"):
        elman.Classifier().fit(["kind", "quick"], [["warm"], ["fast"]])
