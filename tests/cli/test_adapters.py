"""Every adapter on the command line: repeatable to the bit, and the run is unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from elman.adapters import ADAPTERS
from elman.cli import run
from elman.tasks.task import train

SETTINGS = ("model.hidden_size=6", "model.embedding_size=6", "training.epochs=1")
WRITTEN = {"mix": "mix:run=counts", "dynamic": "dynamic:batches=5"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    (folder / "data").mkdir()
    drawn = np.random.default_rng(0)
    words = ("a", "b", "c", "d", "e", "f")
    for split, lines in {"train": 60, "valid": 20, "test": 20}.items():
        rows = [" ".join(drawn.choice(words, 6)) + "\n" for _ in range(lines)]
        (folder / "data" / f"{split}.txt").write_text("".join(rows))
    data = str(folder / "data")
    train("ngram", data=data, out=folder / "counts")
    train("quick", data=data, out=folder / "network", overrides=SETTINGS)
    return folder


def evaluate(capsys: pytest.CaptureFixture[str], *adapters: str) -> dict[str, object]:
    chosen = [word for adapter in adapters for word in ("--with", adapter)]
    assert run(["evaluate", "network", "--data", "data", "--json", *chosen]) == 0
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize("name", ADAPTERS)
def test_two_evaluations_are_the_same_and_leave_the_run_alone(
    name: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    before = {path.name: path.read_bytes() for path in (place / "network").iterdir()}
    static = evaluate(capsys)
    first, second = (evaluate(capsys, WRITTEN.get(name, name)) for _ in range(2))
    assert first == second
    if name != "documents":  # there are no blank lines
        assert first["nats"] != static["nats"]
    assert {path.name: path.read_bytes() for path in (place / "network").iterdir()} == before
    assert evaluate(capsys) == static


def test_all_of_them_together(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    chosen = ("continuous-cache", "dynamic:rule=sgd", "mix:run=counts", "cache", "temperature")
    answer = evaluate(capsys, *chosen, "documents:lines=5")
    assert str(answer["model"]).count("'model':") == 8
    sampled = ["generate", "network", "--with", "dynamic:rule=sgd", "--with", "continuous-cache"]
    assert run([*sampled, "--prompt", "a b", "--max-tokens", "8", "--seed", "1"]) == 0
