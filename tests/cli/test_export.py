"""`elman export --to FORMAT`: which format takes which run."""

from pathlib import Path
from typing import Any

import pytest

import elman
from elman import formats
from elman.formats import EXPORTS
from elman.formats.page import writer

RAW = ("text.tokenizer=raw-words",)
TINY = ["training.epochs=0.1", "model.hidden_size=4", "model.embedding_size=4"]


def test_the_format_can_be_named(says: Any, tmp_path: Path) -> None:
    named, guessed = tmp_path / "named.arpa", tmp_path / "guessed.arpa"
    assert "order 5" in says("export", "words", "--to", "arpa", str(named))
    says("export", "words", str(guessed))
    assert named.read_bytes() == guessed.read_bytes()


def test_an_unknown_format_is_refused(call: Any, tmp_path: Path) -> None:
    result = call("export", "words", "--to", "apra", str(tmp_path / "x"))
    assert result.code == 2
    assert result.err == "elman: unknown format 'apra'; did you mean 'arpa'?\n"


def test_a_format_refuses_runs_without_what_it_needs(call: Any, tmp_path: Path) -> None:
    result = call("export", "words", "--to", "vectors", str(tmp_path / "x"))
    assert result.code == 2
    assert "'ngram' does not support elman export --to vectors; it supports: export --to arpa" in (
        result.err
    )


def test_formats_are_listed(gives: Any) -> None:
    assert gives("list", "exports")["exports"].keys() == EXPORTS.keys()


def test_only_formats_that_work_are_suggested(call: Any, place: Path, tmp_path: Path) -> None:
    """Tokens of raw-words contain spaces, which ARPA cannot express."""
    out = str(tmp_path / "raw")
    assert call("train", "ngram", "--data", "data", "--set", *RAW, "--out", out).code == 0
    for run, formats_ in ((out, []), ("words", ["arpa", "pyctcdecode"])):
        result = call("export", run, "--to", "vectors", str(tmp_path / "x"))
        names = [*formats_, "page", "huggingface"]
        suggested = ", ".join(f"export --to {name}" for name in names)
        assert f"it supports: {suggested}, evaluate" in result.err
    for name in names:
        assert call("export", "words", "--to", name, str(tmp_path / name)).code == 0


def test_the_way_to_a_smaller_page_works(
    call: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_LARGE", 1)
    elman.train("ngram", data=str(place / "data"), overrides=[RAW[0]], out=tmp_path / "raw")
    for run, advice in (
        ("words", "elman arpa prune words --keep 200000 --out small.arpa; elman import"),
        (str(tmp_path / "raw"), "--set model.order=3 or --set text.tokenizer=words"),
    ):
        result = call("export", run, "--to", "page", str(tmp_path / "page.html"), "--overwrite")
        assert result.code == 0
        assert advice in result.err
    assert "arpa" not in result.err


def test_nothing_is_installed_in_vain(
    call: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    result = call("export", "words", "--to", "onnx", str(tmp_path / "x"))
    assert result.code == 2
    assert result.err.startswith("elman: words: an n-gram model is a table without arithmetic")
    assert "--to arpa FILE" in result.err
    elman.train("quick", data=str(place / "data"), overrides=TINY, out=tmp_path / "net")
    result = call("export", str(tmp_path / "net"), "--to", "onnx", str(tmp_path / "x"))
    assert result.err.startswith("elman: this format needs onnx, onnxscript, onnxruntime; install:")


def test_the_name_of_the_setting_is_shown(call: Any, place: Path, tmp_path: Path) -> None:
    settings = [*TINY, "model.output=ngram-residual", "model.tied=false"]
    elman.train("quick", data=str(place / "data"), overrides=settings, out=tmp_path / "net")
    result = call("export", str(tmp_path / "net"), "--to", "huggingface", str(tmp_path / "x"))
    assert "the output 'ngram-residual' cannot be written" in result.err
    for name in ("huggingface", "page"):
        result = call("export", str(tmp_path / "net"), "--to", name, str(tmp_path / "x"))
        assert result.code == 2
        assert result.err.endswith("train with --set model.output=full\n")
