"""ONNX graphs of models over words: the numbers of elman, from inputs made without elman."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import write_facts
from films import draw_texts, train_classifier, write_texts
from small_elmo import LINES, small_elmo
from tagged import train_tagger, write_tagged

import elman

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the exporter are not ours
TEXTS = ["a warm film .", "Cold", "A very dull, unseen plot; isn't it?", "漢字 " + "x" * 70]
SENTENCES = ["Ann sees Rome .", "Bob", "nobody knows unseen words in Paris"]


def reader_of(folder: Path) -> Any:
    """`words.py` of a folder, as a program without elman imports it."""
    namespace: dict[str, Any] = {"__name__": "words"}
    exec(compile((folder / "words.py").read_text(), "words.py", "exec"), namespace)
    return namespace["WordReader"].open(folder)


def outputs(folder: Path, name: str, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    graph = runtime.InferenceSession(folder / f"{name}.onnx")
    return graph.run(None, {value.name: inputs[value.name] for value in graph.get_inputs()})


def labels_of(folder: Path) -> list[str]:
    graph = pytest.importorskip("onnxruntime").InferenceSession(folder / "labels.onnx")
    names: list[str] = json.loads(graph.get_modelmeta().custom_metadata_map["labels"])
    return names


def check_classifier(run: Any, place: Path) -> None:
    pytest.importorskip("onnxscript")
    run.export(place / "graphs", "onnx")
    reader, labels = reader_of(place / "graphs"), labels_of(place / "graphs")
    for texts in (TEXTS, TEXTS[:1], TEXTS * 16):
        for name, within in (("labels", 1e-5), ("labels.int8", 0.05)):
            (found,) = outputs(place / "graphs", name, reader.batch(texts))
            for row, classified in zip(np.exp(found), run.classify(texts), strict=True):
                for label, probability in classified.probabilities.items():
                    assert row[labels.index(label)] == pytest.approx(probability, abs=within)


@pytest.mark.parametrize("features", [["model.ngrams=512"], ["model.characters=affixes"]])
def test_a_classifier(features: list[str], tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))
    check_classifier(train_classifier(data, *features, "text.lowercase=true"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("features", [["model.characters=rnn"], ["model.characters=none"]])
def test_other_classifiers(features: list[str], tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))
    check_classifier(train_classifier(data, *features, "model.pooling=last"), tmp_path)


def test_a_tagger(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    features = ["model.characters=affixes", "model.linear=512", "text.scheme=bioes"]
    run = train_tagger(write_tagged(tmp_path / "data"), None, "model.output=crf", *features)
    folder = tmp_path / "graphs"
    run.export(folder, "onnx")
    reader, labels = reader_of(folder), labels_of(folder)
    for texts in (SENTENCES, SENTENCES[:1]):
        (found,) = outputs(folder, "labels", reader.batch(texts))
        words = [run.split_text(text) for text in texts]
        for number, expected in enumerate(run.probabilities(words)):
            for place, wanted in enumerate(expected):
                for tag, probability in wanted.items():
                    value = np.exp(found[number, place, labels.index(tag)])
                    assert value == pytest.approx(probability, abs=1e-5)


@pytest.mark.slow
def test_a_classifier_of_pairs(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    folder, drawn = tmp_path / "data", draw_texts(40, 0)
    folder.mkdir()
    for split in ("train", "valid"):
        rows = [f"{text}\t{text[::-1]}\t{label}\n" for label, text in drawn]
        (folder / f"{split}.tsv").write_text("text\ttext2\tlabel\n" + "".join(rows))
    run = train_classifier(str(folder), "model.ngrams=64")
    run.export(tmp_path / "graphs", "onnx")
    pairs = [("a warm film", "a cold cast ."), ("dull", "fine fine fine")]
    inputs = reader_of(tmp_path / "graphs").pairs(*zip(*pairs, strict=True))
    (found,) = outputs(tmp_path / "graphs", "labels", inputs)
    labels = labels_of(tmp_path / "graphs")
    for row, classified in zip(np.exp(found), run.classify(pairs), strict=True):
        for label, probability in classified.probabilities.items():
            assert row[labels.index(label)] == pytest.approx(probability, abs=1e-5)


def test_elmo(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    run = small_elmo(tmp_path / "data", out=False)
    run.export(tmp_path / "graphs", "onnx")
    (found,) = outputs(tmp_path / "graphs", "vectors", reader_of(tmp_path / "graphs").batch(LINES))
    for row, text in zip(found, LINES, strict=True):
        words = text.split()
        (wanted,) = run.layers([words])
        np.testing.assert_allclose(row[:, : len(words)], wanted, atol=1e-5)


@pytest.mark.slow
def test_answers(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    small = ["model.num_layers=2", "model.hidden_size=5", "model.embedding_size=4"]
    data = str(write_facts(tmp_path / "data", train=8, valid=3))
    run = elman.train("answerer", data=data, overrides=[*small, "training.epochs=1"])
    run.export(tmp_path / "graphs", "onnx")
    passages = ["Mary went to the garden. John took the red ball.", "Ada took the key."]
    questions = ["Where is Mary?", "Who has the key in the old kitchen?"]
    inputs = reader_of(tmp_path / "graphs").answers(questions, passages)
    starts, ends = outputs(tmp_path / "graphs", "answers", inputs)
    for number, (question, passage) in enumerate(zip(questions, passages, strict=True)):
        wanted = scores_of(run, question, passage)
        length = inputs["passage_lengths"][number]
        np.testing.assert_allclose(starts[number, :length], wanted[0], atol=1e-5)
        np.testing.assert_allclose(ends[number, :length], wanted[1], atol=1e-5)


def scores_of(run: Any, question: str, passage: str) -> list[np.ndarray]:
    """The log probabilities of starts and ends."""
    import torch

    from elman.batches.featured import IndexedMatches
    from elman.text.splitting import split_raw

    asked, read = [split_raw(question)], [split_raw(passage)]
    rows = np.arange(1)
    matched = IndexedMatches(run.task.index(read), read, asked).batch(rows)
    with torch.no_grad():
        found = run.model.eval().score(run.task.index(asked).batch(rows), matched)
    return [part[0].numpy() for part in found]


def test_words_need_no_elman(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    data = write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))
    run = train_classifier(data, "model.characters=none")
    run.export(tmp_path / "graphs", "onnx")
    script = (
        "import sys; sys.modules['elman'] = sys.modules['torch'] = None\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from words import WordReader\n"
        "print(WordReader.open(sys.argv[1]).batch(['a warm film.'])['ids'].tolist())\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "graphs")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [run.task.words.ids(["a", "warm", "film", "."]).tolist()]
