"""Every command that takes text takes it from standard input, and from the formats of its table."""

from __future__ import annotations

import gzip
import io
import json
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from tiny import sentences

from elman.cli import command_names, load_command
from elman.cli import run as elman

TEXT = sentences(200, 0)


class _Input:
    """A stand-in for sys.stdin."""

    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())

    def isatty(self) -> bool:
        return False


@pytest.fixture
def run(tmp_path: Path) -> str:
    (tmp_path / "text.txt").write_text(TEXT)
    out = str(tmp_path / "run")
    assert elman(["train", "ngram", "--data", str(tmp_path / "text.txt"), "--out", out]) == 0
    return out


def call(monkeypatch: pytest.MonkeyPatch, text: str, *words: str) -> Any:
    monkeypatch.setattr(sys, "stdin", _Input(text))
    return elman([*words])


COMMANDS = [
    ["evaluate", "RUN", "--data", "-"],
    ["compare", "RUN", "RUN", "--data", "-"],
    ["train", "ngram", "--data", "-", "--out", "OUT"],
    ["train", "small", "--data", "-", "--out", "OUT", "--set", "training.epochs=0.01"],
    ["plan", "small", "--data", "-"],
    ["data", "-"],
    ["surprisal", "RUN", "-"],
    ["suggest", "RUN", "-"],
    ["generate", "RUN", "--prompt", "-", "--max-tokens", "2"],
    ["explain", "RUN", "-"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_standard_input(
    words: list[str], run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    given = [{"RUN": run, "OUT": str(tmp_path / "out")}.get(word, word) for word in words]
    short = words[0] in ("suggest", "generate", "explain", "surprisal")
    assert call(monkeypatch, "the cat sees\n" if short else TEXT, *given) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", ["text.jsonl", "text.csv", "text.jsonl.gz"])
def test_tables_for_language_models(name: str, run: str, tmp_path: Path, capsys: Any) -> None:
    rows = [{"n": n, "body": line} for n, line in enumerate(TEXT.splitlines())]
    if "json" in name:
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        text = "n,body\n" + "".join(f'{row["n"]},"{row["body"]}"\n' for row in rows)
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(data)
    table = ["--data", str(tmp_path / name), "--columns", "text=body"]
    out = str(tmp_path / "from-table")
    capsys.readouterr()
    assert elman(["train", "ngram", *table, "--out", out, "--json"]) == 0
    of_table = json.loads(capsys.readouterr().out)
    assert elman(["evaluate", out, "--data", str(tmp_path / name), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    plain = str(tmp_path / "text.txt")
    assert elman(["evaluate", run, "--data", plain, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert again["perplexity"] == pytest.approx(expected["perplexity"], abs=1e-9)
    assert of_table["config"]["text"]["columns"] == {"text": "body"}


def test_strict_and_split_by(run: str, tmp_path: Path, capsys: Any) -> None:
    lines = [json.dumps({"text": line}) for line in TEXT.splitlines()]
    (tmp_path / "x.jsonl").write_text("\n".join([*lines, "{"]) + "\n")
    words = ["train", "ngram", "--data", str(tmp_path / "x.jsonl"), "--out", str(tmp_path / "o")]
    assert elman([*words, "--strict"]) == 2
    assert "line 201: such lines are not JSON" in capsys.readouterr().err
    capsys.readouterr()
    assert elman([*words, "--split-by", "random:7", "--json"]) == 0
    out = capsys.readouterr()
    assert "200 of 201 lines are used" in out.err
    assert json.loads(out.out)["config"]["text"]["split"] == "random:7"


def test_every_command_with_data_takes_standard_input() -> None:
    """No option for data or files refuses the hyphen, except outputs and built-in corpora."""
    without = []
    for name in command_names():
        for parameter in signature(load_command(name), eval_str=True).parameters.values():
            described = str(parameter.annotation)
            is_data = parameter.name in ("data", "file") and "str" in described
            if is_data and "allow_leading_hyphen=True" not in described:
                without.append(f"{name} {parameter.name}")
    assert without == ["study ablation data"]
