"""`elman translate` and `evaluate` of such runs; what they refuse."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pairs import train_translator, write_captions, write_parallel
from tagged import train_tagger, write_tagged

LINES = "the dog sees\n\na man\nxyzzy\n"


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with parallel texts, vectors, and a run of each kind."""
    place = tmp_path_factory.mktemp("translate")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        train_translator(write_parallel(place / "data"), place / "en-de", "training.epochs=6")
        vectors = ("text.source=npz", "text.target=txt")
        train_translator(write_captions(place / "captions"), place / "pictures", *vectors)
        train_tagger(write_tagged(place / "tagged"), place / "ner", "training.epochs=0.2")
    (place / "lines.en").write_text(LINES)
    return place


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine."""
    monkeypatch.setattr("elman.cli.output._PATIENCE", 1e9)


def test_a_line_for_every_line(says: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = says("translate", "en-de", "lines.en")
    first, empty, third, *_ = out.split("\n")
    assert out.count("\n") == 4
    assert first
    assert (empty, bool(third)) == ("", True)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(LINES.encode())))
    assert says("translate", "en-de", "-", "--batch-size", "1") == out
    assert says("translate", "en-de", "--text", "the dog sees") == f"{first}\n"


def test_a_whole_file_is_one_text(says: Any) -> None:
    assert says("translate", "en-de", "lines.en", "--whole").count("\n") == 1


def test_n_best(says: Any, gives: Any) -> None:
    rows = [
        row.split("\t")
        for row in says("translate", "en-de", "lines.en", "--n-best", "3").split("\n")
    ]
    assert [row[:2] for row in rows[:4]] == [["1", "1"], ["1", "2"], ["1", "3"], ["3", "1"]]
    first, empty, *_ = gives("translate", "en-de", "lines.en", "--n-best", "2")["translations"]
    assert first["source"] == "the dog sees"
    assert first["text"] == first["n_best"][0]["text"] == rows[0][3]
    assert len(first["n_best"]) == 2
    assert (empty["source"], empty["text"], empty["n_best"]) == ("", "", [])


def test_samples(says: Any) -> None:
    drawn = [says("translate", "en-de", "lines.en", "--sample", "--seed", s) for s in "112"]
    assert drawn[0] == drawn[1]
    assert all(out.count("\n") == 4 for out in drawn)


def test_captions(says: Any, place: Path) -> None:
    np.save(place / "grids.npy", np.ones((3, 2, 2)))
    out = says("translate", "pictures", "grids.npy")
    assert out.count("\n") == 3
    assert len({*out.splitlines()}) == 1


def test_evaluate_prints_measures_bands_and_signatures(says: Any, gives: Any) -> None:
    out = says("evaluate", "en-de", "--data", "data", "--beam", "1")
    assert out.splitlines()[2].startswith("BLEU ")
    assert "source length" in out
    assert "BLEU: nrefs:1|case:mixed|eff:no|tok:none|" in out
    data = gives("evaluate", "en-de", "--data", "data", "--tokenize", "char", "--split", "valid")
    assert {"bleu", "chrf", "rouge_l", "exact", "lines"} <= data.keys()
    assert "tok:char" in data["signatures"]["bleu"]
    assert sum(band["lines"] for band in data["by_length"]) == data["lines"] == 20


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("translate en-de", "give either a file or --text"),
        ("translate en-de gone.en", "gone.en: no such file"),
        ("translate en-de lines.en --n-best 6", "--n-best is 6 but beam is 5; widen the beam"),
        ("translate en-de lines.en --temperature 2", "--temperature needs sample"),
        ("translate en-de lines.en --batch-size 0", "--batch-size is 0; give at least 1"),
        (
            "translate ner lines.en",
            "run of the model 'tagger' does not support elman translate",
        ),
        ("translate pictures lines.en", "source 1 is a text; this run reads vectors"),
        ("translate en-de grids3.npy", "this run reads text, not vectors"),
        (
            "translate pictures grids3.npy",
            "its vectors have 3 numbers; .* trained with 2",
        ),
        ("translate pictures text.npy", "text.npy: is not an array of numbers; write it"),
        (
            "translate pictures grids3.npy --whole",
            "grids3.npy: this file contains vectors; leave out",
        ),
        (
            "generate en-de",
            "run of the model 'encoder-decoder' does not support elman generate; .* translate",
        ),
        ("evaluate ner --data tagged --beam 2", "--beam does not apply to ner, which is a tagger"),
        ("evaluate en-de --data data --accuracy", "--accuracy does not apply to en-de, which is a"),
        ("evaluate en-de --data data --tokenize x", "unknown tokenization of BLEU 'x'"),
        ("train translator --data data --set text.source=fr --out x", "put test.fr beside it"),
    ],
)
def test_refusals(call: Any, place: Path, command: str, message: str) -> None:
    np.save(place / "grids3.npy", np.ones((2, 3)))
    (place / "text.npy").write_text("a man\n")
    result = call(*command.split())
    assert result.code == 2
    assert len([line for line in result.err.splitlines() if not line.endswith("…")]) == 1
    assert re.search(message, result.err), result.err
