"""Classifiers, taggers and ELMo as Hugging Face folders: the same numbers for every text."""

import ast
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from films import draw_texts, train_classifier, write_texts
from small_elmo import LINES, small_elmo
from tagged import train_tagger, write_tagged

import elman
from elman.errors import InputError
from elman.formats.huggingface import modelling_file, tokenization_file
from elman.formats.portable.joining import names_in
from elman.formats.portable_settings import to_portable

pytestmark = pytest.mark.filterwarnings("ignore")  # those of transformers are not ours
DEFAULT = ["text.lowercase=true", "model.ngrams=512", "model.characters=none"]
CLASSIFIERS = {
    "default": DEFAULT,
    "affixes": ["model.characters=affixes", "model.pooling=concat", "model.cell=gru"],
    "window": ["model.characters=cnn", "model.pooling=attention", "model.encoder=window"],
}
SLOW_CLASSIFIERS = {
    "rnn": ["model.characters=rnn", "model.ngrams=64", "text.normalise=nfc+quotes"],
    "last": ["model.characters=none", "model.pooling=last", "model.num_layers=2"],
}
TEXTS = [
    "a warm film .",
    "Cold",
    "A very dull, unseen plot; isn't it?",
    "漢字 <|endoftext|> Zoë’s " + "x" * 70,
    "warm " * 90,
]
TAGGERS = {
    "default": [
        "text.digits_alike=true",
        "text.scheme=bioes",
        "model.characters=affixes",
        "model.linear=512",
        "model.output=crf",
    ],
    "softmax": ["model.characters=cnn", "model.output=softmax", "model.num_layers=2"],
}
SENTENCES = ["Ann sees Rome .", "Bob", "nobody knows unseen words in Paris", "Ann sees, in Bobson."]


def loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    transformers = pytest.importorskip("transformers")
    load = getattr(transformers, f"AutoModel{kind}").from_pretrained
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    return load(folder, trust_remote_code=True).eval(), tokenizer


def small_texts(place: Path) -> str:
    return write_texts(place / "data", train=draw_texts(60, 0), valid=draw_texts(20, 1))


def check_classifier(run: Any, folder: Path, texts: list[Any]) -> None:
    model, tokenizer = loaded(folder, "ForSequenceClassification")
    for side in ("right", "left"):
        for size in (1, 3, 64):
            for first in range(0, len(texts), size):
                some = texts[first : first + size]
                given = (
                    [some] if isinstance(some[0], str) else [*map(list, zip(*some, strict=True))]
                )
                batch = tokenizer(*given, return_tensors="pt", padding=True, padding_side=side)
                with torch.no_grad():
                    logits = model(**batch).logits
                found = logits.sigmoid() if run.task.several else logits.softmax(1)
                check_labels(found, model.config.label2id, run, some)


def check_labels(found: torch.Tensor, numbers: dict[str, int], run: Any, texts: Any) -> None:
    classify = run.label_lines if run.task.several else run.classify
    for row, classified in zip(found, classify(texts), strict=True):
        for label, probability in classified.probabilities.items():
            assert float(row[numbers[label]]) == pytest.approx(probability, abs=1e-5)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_gives_the_same_probabilities(name: str, tmp_path: Path) -> None:
    run = train_classifier(small_texts(tmp_path), *CLASSIFIERS[name])
    run.export(tmp_path / "hub", "huggingface")
    check_classifier(run, tmp_path / "hub", TEXTS)


def test_a_mix_gives_the_same_probabilities(tmp_path: Path) -> None:
    run = train_classifier(small_texts(tmp_path), *DEFAULT)
    run.model.mix = (0.3, 1.0, 2.5)
    run.export(tmp_path / "hub", "huggingface")
    check_classifier(run, tmp_path / "hub", TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_CLASSIFIERS)
def test_other_classifiers_give_the_same_probabilities(name: str, tmp_path: Path) -> None:
    run = train_classifier(small_texts(tmp_path), *SLOW_CLASSIFIERS[name])
    run.export(tmp_path / "hub", "huggingface")
    check_classifier(run, tmp_path / "hub", TEXTS)


def test_a_classifier_of_pairs_gives_the_same_probabilities(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    drawn = draw_texts(60, 0)
    for split in ("train", "valid"):
        rows = [
            f"{text}\t{other}\t{'ja, œil' if a == b else 'no, não'}\n"
            for (a, text), (b, other) in pairwise(drawn)
        ]
        (folder / f"{split}.tsv").write_text("text\ttext2\tlabel\n" + "".join(rows))
    run = train_classifier(str(folder), *DEFAULT)
    assert run.task.texts == 2
    assert set(run.task.labels) == {"ja, œil", "no, não"}
    run.export(tmp_path / "hub", "huggingface")
    check_classifier(run, tmp_path / "hub", [("a warm film", "a cold cast ."), ("dull", "fine!")])


def test_the_pipeline_classifies(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    run = train_classifier(small_texts(tmp_path), *CLASSIFIERS["default"])
    run.export(tmp_path / "hub", "huggingface")
    pipe = transformers.pipeline(
        "text-classification", model=str(tmp_path / "hub"), trust_remote_code=True, top_k=None
    )
    for found, expected in zip(pipe(TEXTS, batch_size=3), run.classify(TEXTS), strict=True):
        for each in found:
            assert each["score"] == pytest.approx(expected.probabilities[each["label"]], abs=1e-5)
    with pytest.raises(ValueError, match="a text has no words"):
        pipe(" ")


@pytest.mark.parametrize("name", TAGGERS)
def test_a_tagger_gives_the_same_probabilities(name: str, tmp_path: Path) -> None:
    run = train_tagger(write_tagged(tmp_path / "data"), None, *TAGGERS[name])
    run.export(tmp_path / "hub", "huggingface")
    model, tokenizer = loaded(tmp_path / "hub", "ForTokenClassification")
    texts = [*SENTENCES, "Ann sees Bob and " * 60]
    expected = run.probabilities([run.split_text(text) for text in texts])
    for side in ("right", "left"):
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side=side)
        with torch.no_grad():
            found = model(**batch).logits.softmax(2)
        for row, mask, words in zip(found, batch.attention_mask, expected, strict=True):
            for probabilities, wanted in zip(row[mask.bool()], words, strict=True):
                for tag, probability in wanted.items():
                    place = model.config.label2id[tag]
                    assert float(probabilities[place]) == pytest.approx(probability, abs=1e-5)


def test_the_pipeline_tags(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    run = train_tagger(write_tagged(tmp_path / "data"), None, *TAGGERS["default"])
    run.export(tmp_path / "hub", "huggingface")
    pipe = transformers.pipeline(
        "token-classification",
        model=str(tmp_path / "hub"),
        trust_remote_code=True,
        ignore_labels=[],
    )
    text = SENTENCES[-1]
    (expected,) = run.probabilities([run.split_text(text)])
    found = pipe(text)
    assert [text[each["start"] : each["end"]] for each in found] == run.split_text(text)
    for each, wanted in zip(found, expected, strict=True):
        assert each["entity"] == next(iter(wanted))
        assert each["score"] == pytest.approx(wanted[each["entity"]], abs=1e-5)
    assert pipe("") == []


def test_elmo_gives_the_same_layers(tmp_path: Path) -> None:
    run = small_elmo(tmp_path / "data", out=False)
    run.export(tmp_path / "hub", "huggingface")
    model, tokenizer = loaded(tmp_path / "hub", "")
    texts = [*LINES, "unseen " + "y" * 80, "a"]
    expected = run.layers([text.split() for text in texts])
    for side in ("right", "left"):
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side=side)
        with torch.no_grad():
            layers = torch.stack(model(**batch).hidden_states)
        for number, wanted in enumerate(expected):
            found = layers[:, number][:, batch.attention_mask[number].bool()]
            np.testing.assert_allclose(found.numpy(), wanted, atol=1e-5)


def test_a_tagger_with_elmo_gives_the_same_probabilities(tmp_path: Path) -> None:
    small_elmo(tmp_path / "elmo")
    settings = [f"model.elmo={tmp_path / 'elmo' / 'elmo'}", "model.contextual_output=true"]
    run = train_tagger(write_tagged(tmp_path / "data"), None, *settings)
    run.export(tmp_path / "hub", "huggingface")
    model, tokenizer = loaded(tmp_path / "hub", "ForTokenClassification")
    with torch.no_grad():
        found = model(**tokenizer(SENTENCES[2], return_tensors="pt")).logits.softmax(2)[0]
    for row, wanted in zip(found, run.probabilities([SENTENCES[2].split()])[0], strict=True):
        for tag, probability in wanted.items():
            assert float(row[model.config.label2id[tag]]) == pytest.approx(probability, abs=1e-5)


def test_the_files_need_no_elman_and_define_no_name_twice(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    run = train_classifier(small_texts(tmp_path), *CLASSIFIERS["default"])
    run.export(tmp_path / "hub", "huggingface")
    script = (
        "import sys; sys.modules['elman'] = None\n"
        "import transformers\n"
        "pipe = transformers.pipeline(\n"
        "    'text-classification', model=sys.argv[1], trust_remote_code=True)\n"
        "print('score', pipe('a warm film')[0]['score'])\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "hub")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = run.classify(["a warm film"])[0].probability
    assert float(said.split()[-1]) == pytest.approx(expected, abs=1e-5)
    for text in (modelling_file(), tokenization_file()):
        assert "from elman" not in text
        assert [name for name, times in Counter(names_in(text)).items() if times > 1] == []
        ast.parse(text)


def test_further_columns_are_refused_with_the_reason(tmp_path: Path) -> None:
    data = write_tagged(tmp_path / "data", lengths=True)
    run = train_tagger(data, None, "text.features=2")
    with pytest.raises(InputError, match="a tokenizer gives words only"):
        run.export(tmp_path / "hub", "huggingface")
    assert not (tmp_path / "hub").exists()


def test_torch_exports_any_length(tmp_path: Path) -> None:
    run = train_classifier(small_texts(tmp_path), *CLASSIFIERS["default"])
    network = to_portable(run.model)
    rows, length = torch.export.Dim("N"), torch.export.Dim("L")
    example = (
        torch.zeros(2, 5, dtype=torch.long),
        torch.ones(2, 5, dtype=torch.bool),
        torch.ones(2, 5, 12, dtype=torch.long),
    )
    sizes = tuple({0: rows, 1: length} for _ in example)
    with torch.no_grad():
        program = torch.export.export(network, example, dynamic_shapes=sizes)
        for shape in ((1, 1), (3, 7)):
            drawn = torch.Generator().manual_seed(1)
            ids = torch.randint(0, 5, shape, generator=drawn)
            real = torch.ones(shape, dtype=torch.bool)
            spelled = torch.randint(0, 200, (*shape, 12), generator=drawn)
            found = program.module()(ids, real, spelled)
            torch.testing.assert_close(found, network(ids, real, spelled))


def test_runs_over_two_texts_are_refused_with_the_way_out(tmp_path: Path) -> None:
    small = ["model.hidden_size=8", "model.embedding_size=8", "training.epochs=0.1"]
    corpus = "reverse:lines=200,longest=3,symbols=12"
    run = elman.train("reverse", data=corpus, overrides=small)
    with pytest.raises(InputError, match="--to onnx"):
        run.export(tmp_path / "hub", "huggingface")
