"""Ids of large texts: equal to those of small ones, made once, complete or absent."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest
from tiny import sentences, train_tiny, weights, write_sentences

from elman.errors import InputError
from elman.tasks.language_modelling import id_files
from elman.tasks.language_modelling.id_files import count_unknown, encode_ids, learn_ids
from elman.tasks.task import resume, train
from elman.text import TOKENIZERS, streamed, tokenizer_to_data, train_tokenizer
from elman.text.running_text import open_running_text
from elman.text.streamed import StreamedDocument
from elman.text.tokenizer import TextConfig

LINES = 3000


@pytest.fixture(autouse=True)
def small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(streamed, "IN_MEMORY", 1000)
    monkeypatch.setattr("elman.text.reader._BLOCK", 700)


def write_text(folder: Path) -> StreamedDocument:
    folder.mkdir(exist_ok=True)
    text = sentences(LINES, 0) + "\nL’été <unk> don't ,  so !\n" * 9
    (folder / "train.txt").write_text(text)
    document = open_running_text(str(folder)).split("train")
    assert isinstance(document, StreamedDocument)
    return document


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("form", ["nfc", "nfc+quotes"])
def test_blocks_give_the_ids_of_the_whole(name: str, form: str, tmp_path: Path) -> None:
    document = write_text(tmp_path / "data")
    config = TextConfig(tokenizer=name, lowercase=True, normalise=form, vocabulary_size=300)
    tokenizer, ids = learn_ids(document, config, lambda what: None)
    expected, whole = train_tokenizer(document.text, config)
    assert tokenizer_to_data(tokenizer) == tokenizer_to_data(expected)
    assert np.array_equal(ids, whole)
    assert np.array_equal(encode_ids(expected, document, lambda what: None), whole)
    unknown = count_unknown(tokenizer, document, ids)
    assert unknown == expected.count_unknown(document.text, whole)


def test_ids_are_made_once_until_the_text_changes(tmp_path: Path, monkeypatch) -> None:
    document, config = write_text(tmp_path / "data"), TextConfig(tokenizer="words")
    _, ids = learn_ids(document, config, lambda what: None)
    monkeypatch.setattr(StreamedDocument, "blocks", lambda self: pytest.fail("it was read again"))
    assert np.array_equal(learn_ids(document, config, lambda what: None)[1], ids)
    monkeypatch.undo()
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "data" / "train.txt"
    path.write_text(path.read_text() + "one more line\n" * 100)
    assert len(learn_ids(document, config, lambda what: None)[1]) == len(ids) + 400


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    document, config = write_text(tmp_path / "data"), TextConfig(tokenizer="words")
    expected = np.array(learn_ids(document, config, lambda what: None)[1])
    (folder,) = (tmp_path / "cache").iterdir()
    for damage in (b"", b"{", b'{"ids": 7}', b"[]"):
        (folder / "done.json").write_bytes(damage)
        assert np.array_equal(learn_ids(document, config, lambda what: None)[1], expected)
    with (folder / "ids.bin").open("ab") as file:
        file.truncate(100)
    assert np.array_equal(learn_ids(document, config, lambda what: None)[1], expected)


def _learn_and_die(folder: Path, name: str, moment: str, after: int) -> None:
    """Read the text, and be killed the n-th time that a moment comes."""
    id_files._CERTAIN_EVERY = 0.0
    inside = getattr(id_files._Files, moment)
    left = [after]

    def die(self, *given) -> None:
        left[0] -= 1
        if left[0] == 0:
            self._file.flush()  # more is written than is certain
            os.kill(os.getpid(), signal.SIGKILL)
        return inside(self, *given)

    setattr(id_files._Files, moment, die)
    learn_ids(write_again(folder), TextConfig(tokenizer=name), lambda what: None)


def write_again(folder: Path) -> StreamedDocument:
    document = open_running_text(str(folder)).split("train")
    assert isinstance(document, StreamedDocument)
    return document


@pytest.mark.parametrize("name", ["words", "raw-words"])
def test_a_killed_reading_continues(name: str, tmp_path: Path) -> None:
    document = write_text(tmp_path / "data")
    fork = multiprocessing.get_context("fork")
    chance, seen = random.Random(0), [0]
    for _ in range(10):
        moment = chance.choice(["append", "_make_certain"])
        options = (tmp_path / "data", name, moment, chance.randint(2, 12))
        reader = fork.Process(target=_learn_and_die, args=options)
        reader.start()
        reader.join()
        assert reader.exitcode == -signal.SIGKILL
        (progress,) = (tmp_path / "cache").glob("*/progress.json")
        seen.append(json.loads(progress.read_text())["blocks"])
    assert seen == sorted({*seen})  # something was added each time, and nothing done twice
    for moment in ("renumber", "finish"):
        options = (tmp_path / "data", name, moment, 1)
        reader = fork.Process(target=_learn_and_die, args=options)
        reader.start()
        reader.join()
    tokenizer, ids = learn_ids(document, TextConfig(tokenizer=name), lambda what: None)
    expected, whole = train_tokenizer(document.text, TextConfig(tokenizer=name))
    assert np.array_equal(ids, whole)
    assert tokenizer_to_data(tokenizer) == tokenizer_to_data(expected)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ELMAN_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="cannot be written .*; set ELMAN_CACHE"):
        learn_ids(write_text(tmp_path / "data"), TextConfig(), lambda what: None)


def test_training_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting and a network, with the text in memory and streamed."""
    data = write_sentences(tmp_path / "data")
    found = {}
    for size in (10**9, 100):
        monkeypatch.setattr(streamed, "IN_MEMORY", size)
        network = train_tiny(data, tmp_path / f"network{size}")
        counts = train("ngram", data=str(data), out=tmp_path / f"counts{size}")
        facts = {name: network.facts[name] for name in ("data", "validation")}
        found[size] = weights(network), facts, counts.facts["validation"]
    assert found[100] == found[10**9]
    assert [*(tmp_path / "cache").iterdir()]


def test_a_resumed_training_finds_its_ids(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(streamed, "IN_MEMORY", 100)
    data = write_sentences(tmp_path / "data")
    train_tiny(data, tmp_path / "run")
    longer = resume(tmp_path / "run", overrides=["training.epochs=3"])
    assert longer.facts["training"]["epochs"] == 3
