"""`elman arpa merge` and `elman arpa prune`."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def arpa(says: Any, tmp_path: Path) -> str:
    """The ARPA file of a run."""
    path = str(tmp_path / "words.arpa")
    says("export", "words", path)
    return path


def test_merge_with_weights(gives: Any, says: Any, arpa: str, tmp_path: Path) -> None:
    out = str(tmp_path / "merged.arpa")
    merged = gives("arpa", "merge", arpa, "laplace", "--weights", "3,1", "--out", out)
    assert merged["weights"] == [0.75, 0.25]
    says("import", out, "--out", str(tmp_path / "run"))
    words = gives("suggest", str(tmp_path / "run"), "the cat")["suggestions"]
    parts = [
        gives("suggest", run, "the cat", "--top", "9")["suggestions"]
        for run in ("words", "laplace")
    ]
    probability = [{s["token"]: s["probability"] for s in part} for part in parts]
    first = words[0]["token"]
    expected = 0.75 * probability[0][first] + 0.25 * probability[1][first]
    assert words[0]["probability"] == pytest.approx(expected, rel=1e-6)


def test_merge_fits_weights_and_measures(gives: Any, says: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "merged.arpa")
    merged = gives("arpa", "merge", "words", "laplace", "--data", "data", "--out", out)
    measured = gives("evaluate", "words", "--data", "data", "--split", "valid")
    assert merged["perplexities"][0] == pytest.approx(measured["perplexity"])
    assert merged["perplexity"] <= min(merged["perplexities"]) * 1.001
    assert sum(merged["weights"]) == pytest.approx(1)
    shown = says("arpa", "merge", "words", "laplace", "--data", "data", "--out", out, "--overwrite")
    assert "merged" in shown
    assert f"wrote {out}" in shown


def test_prune_by_number(gives: Any, says: Any, arpa: str, tmp_path: Path) -> None:
    out = str(tmp_path / "small.arpa")
    pruned = gives("arpa", "prune", arpa, "--keep", "30", "--histories", "data", "--out", out)
    assert pruned["notes"] == []
    assert sum(pruned["ngrams"][1:]) <= 30 < sum(pruned["ngrams_before"][1:])
    says("import", out, "--out", str(tmp_path / "run"))
    assert gives("evaluate", str(tmp_path / "run"), "--data", "data")["perplexity"] < 100


def test_prune_measures(gives: Any, says: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "small.arpa")
    options = ["--threshold", "1e-3", "--histories", "laplace", "--data", "data", "--out", out]
    pruned = gives("arpa", "prune", "words", *options)
    expected = gives("evaluate", "words", "--data", "data")["perplexity"]
    assert pruned["perplexity_before"] == pytest.approx(expected)
    assert "perplexity" in says("arpa", "prune", "words", *options, "--overwrite")


def test_kneser_ney_asks_for_histories(call: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "small.arpa")
    result = call("arpa", "prune", "words", "--threshold", "1e-8", "--out", out)
    assert result.code == 0
    assert "note: this is a Kneser–Ney model" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["merge", "words"], "at least two models"),
        (["merge", "words", "laplace"], "--weights 0.7,0.3"),
        (["merge", "words", "laplace", "--weights", "1"], "2 models but 1 weights"),
        (["merge", "words", "laplace", "--weights", "1,x"], "numbers separated by commas"),
        (["merge", "words", "laplace", "--weights", "1,-1"], "must be 0 or more"),
        (["merge", "words", "laplace", "--weights", "nan,1"], "must be 0 or more"),
        (["merge", "words", "letters", "--weights", "1,1"], "cannot be written"),
        (["prune", "words"], "either --threshold or --keep"),
        (["prune", "words", "--keep", "5", "--threshold", "1"], "either --threshold or --keep"),
        (["prune", "words", "--threshold", "-1"], "must be 0 or more"),
        (["prune", "words", "--threshold", "nan"], "must be 0 or more"),
        (["prune", "words", "--keep", "-1"], "must not be negative"),
        (["prune", "nowhere", "--keep", "1"], "nowhere"),
        (["prune", "words", "--keep", "1", "--histories", "nowhere"], "nowhere"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, call: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.arpa"
    result = call("arpa", *arguments, "--out", str(out))
    assert result.code == 2
    assert message in result.err
    assert not out.exists()
