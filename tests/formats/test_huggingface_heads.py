"""Classifiers and taggers as Hugging Face folders: the same probabilities for every text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from films import draw_texts, train_classifier, write_texts
from tagged import train_tagger, write_tagged

from elman.errors import InputError
from elman.formats.portable_settings import to_portable

pytestmark = pytest.mark.filterwarnings("ignore")  # those of transformers are not ours
PLAIN = ["model.characters=none", "text.lowercase=true"]
CLASSIFIERS = {
    "max": ["model.pooling=max"],
    "concat": ["model.pooling=concat", "model.cell=gru"],
    "attention": ["model.pooling=attention", "model.encoder=window", "model.window=1"],
}
TEXTS = ["a warm film", "Cold", "a very dull and unseen plot"]
SENTENCES = ["Ann sees Rome .", "Bob", "nobody knows unseen words in Paris"]
TAGGERS = {"crf": ["model.output=crf"], "softmax": ["model.output=softmax", "model.num_layers=2"]}


def loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    transformers = pytest.importorskip("transformers")
    load = getattr(transformers, f"AutoModelFor{kind}").from_pretrained
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    return load(folder, trust_remote_code=True).eval(), tokenizer


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_gives_the_same_probabilities(name: str, tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))
    run = train_classifier(data, "model.ngrams=0", *PLAIN, *CLASSIFIERS[name])
    run.export(tmp_path / "hub", "huggingface")
    model, tokenizer = loaded(tmp_path / "hub", "SequenceClassification")
    texts = TEXTS
    for side in ("right", "left"):
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side=side)
        with torch.no_grad():
            found = model(**batch).logits.softmax(1)
        for row, classified in zip(found, run.classify(texts), strict=True):
            for label, probability in classified.probabilities.items():
                place = model.config.label2id[label]
                assert float(row[place]) == pytest.approx(probability, abs=1e-5)


@pytest.mark.parametrize("name", TAGGERS)
def test_a_tagger_gives_the_same_probabilities(name: str, tmp_path: Path) -> None:
    data = write_tagged(tmp_path / "data")
    run = train_tagger(data, None, "model.linear=0", *PLAIN, *TAGGERS[name])
    run.export(tmp_path / "hub", "huggingface")
    model, tokenizer = loaded(tmp_path / "hub", "TokenClassification")
    texts = SENTENCES
    expected = run.probabilities([text.split() for text in texts])
    for side in ("right", "left"):
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side=side)
        with torch.no_grad():
            found = model(**batch).logits.softmax(2)
        for row, mask, words in zip(found, batch.attention_mask, expected, strict=True):
            for probabilities, wanted in zip(row[mask.bool()], words, strict=True):
                for tag, probability in wanted.items():
                    place = model.config.label2id[tag]
                    assert float(probabilities[place]) == pytest.approx(probability, abs=1e-5)


def test_spelling_is_refused_with_the_reason(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(40, 0), valid=draw_texts(10, 1))
    run = train_classifier(data, "model.ngrams=0", "model.characters=cnn")
    with pytest.raises(InputError, match="train with --set model.characters=none"):
        run.export(tmp_path / "hub", "huggingface")


@pytest.mark.parametrize("rows", [1, 3])
def test_onnx_graphs_give_the_same_probabilities(rows: int, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    data = write_tagged(tmp_path / "data")
    run = train_tagger(data, None, "model.linear=0", "model.output=crf", *PLAIN)
    run.export(tmp_path / "graphs", "onnx")
    graph = runtime.InferenceSession(tmp_path / "graphs" / "labels.onnx")
    words = [text.split() for text in SENTENCES[:rows]]
    ids = [run.task.words.ids(row) for row in words]
    lengths = np.array([len(row) for row in ids])
    padded = np.zeros((rows, lengths.max()), dtype=np.int64)
    for number, row in enumerate(ids):
        padded[number, : len(row)] = row
    (found,) = graph.run(None, {"ids": padded, "lengths": lengths})
    for number, expected in enumerate(run.probabilities(words)):
        for place, wanted in enumerate(expected):
            for tag, probability in wanted.items():
                value = np.exp(found[number, place, run.task.tags.index(tag)])
                assert value == pytest.approx(probability, abs=1e-5)


def test_torch_exports_any_length(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))
    run = train_classifier(data, "model.ngrams=0", *PLAIN)
    network = to_portable(run.model)
    rows, length = torch.export.Dim("N"), torch.export.Dim("L")
    example = torch.zeros(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=torch.bool)
    sizes = ({0: rows, 1: length}, {0: rows, 1: length})
    with torch.no_grad():
        program = torch.export.export(network, example, dynamic_shapes=sizes)
        for shape in ((1, 1), (3, 7)):
            ids = torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(1))
            real = torch.ones(shape, dtype=torch.bool)
            torch.testing.assert_close(program.module()(ids, real), network(ids, real))
