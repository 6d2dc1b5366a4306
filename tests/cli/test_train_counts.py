"""`elman train` of count models."""

from pathlib import Path
from typing import Any

import elman


def test_train(call: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = call("train", "ngram", "--data", "data", "--out", str(out), "--set", "model.order=3")
    assert result.code == 0
    assert "read 200 lines, 1,400 tokens (words), vocabulary 11" in result.out
    assert "validation perplexity" in result.out
    assert f"next: elman generate {out}" in result.out
    assert len(result.out.splitlines()) == 9  # three orders in a table with two lines above it
    assert all(line.startswith("note: ") for line in result.err.splitlines())
    assert elman.load(out).config.model.order == 3


def test_a_text_of_one_line(call: Any, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("the cat sees a dog . " * 50)
    command = (
        "train",
        "laplace",
        "--data",
        str(tmp_path / "book.txt"),
        "--out",
        str(tmp_path / "run"),
    )
    assert "read 1 line, 271 tokens" in call(*command).out


def test_train_as_data(gives: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    found = gives("train", "laplace", "--data", "data", "--out", out, "--seed", "3")
    assert found["run"] == out
    assert found["config"]["seed"] == 3
    assert found["config"]["model"]["smoothing"] == "add-delta"
    assert found["model"]["vocabulary_size"] == 11
    assert found["validation"]["perplexity"] > 1


def test_train_again(call: Any, tmp_path: Path) -> None:
    train = ("train", "laplace", "--data", "data", "--out", str(tmp_path / "run"))
    assert call(*train).code == 0
    again = call(*train)
    assert again.code == 2
    assert "exists already" in again.err
    assert call(*train, "--overwrite").code == 0


def test_the_next_command_can_be_pasted(call: Any, tmp_path: Path) -> None:
    out = tmp_path / "my run"
    result = call("train", "laplace", "--data", "data", "--out", str(out))
    assert f"next: elman generate '{out}' --max-tokens 50" in result.out
