"""`elman export --to FORMAT`: which format takes which run."""

from pathlib import Path
from typing import Any

from elman.formats import EXPORTS


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
