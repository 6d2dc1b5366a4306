"""`elman train` of neural models: stopping, resuming, refusals."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from outcome import differences, outcome
from tiny import write_letters, write_recipe, write_sentences

from elman import cli
from elman.runs.folder import read_run
from elman.tasks.task import resume, train
from elman.training.history import read_history

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("without_curves")
LONG = "window_jitter = 2\nepochs = 30\nlearning_rate = 5.0"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train")
    write_letters(folder / "data")
    write_recipe(folder / "tiny.toml", model="dropout_output = 0.2", training=LONG)
    return folder


@pytest.fixture(scope="module")
def whole(place: Path) -> dict[str, Any]:
    """What a long training comes to that nobody stops."""
    train(str(place / "tiny.toml"), data=str(place / "data"), out=place / "whole", seed=1)
    return outcome(place / "whole")


def start(place: Path, out: Path) -> subprocess.Popen[str]:
    """A long training by itself; returns once it has a first record of its history."""
    command = ["train", str(place / "tiny.toml"), "--data", str(place / "data"), "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "elman", *command, "--seed", "1", "--threads", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 60
    while not read_history(out):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


# One signal each, and an impatient user: a second one while the first is being obeyed.
@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGINT, signal.SIGINT], 130),
        pytest.param([signal.SIGINT], 130, marks=pytest.mark.slow),
    ],
    ids=["TERM", "INT twice", "INT"],
)
def test_a_signal_saves_and_says_how_to_go_on(
    place: Path, tmp_path: Path, whole: dict[str, Any], signals: list[int], code: int
) -> None:
    out = tmp_path / "run"
    process = start(place, out)
    for number in signals:
        process.send_signal(number)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert printed == ""
    last = said.splitlines()[-1]
    assert last == (
        f"elman: stopped; everything is saved; continue with: elman train --resume {out}"
    )
    assert "Traceback" not in said
    step = read_run(out)["training.json"]["trainer"]["step"]
    assert 0 < step < whole["step"]
    resume(out)
    assert differences(outcome(out), whole) == []


def test_resuming_from_the_command_line(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [str(place / "tiny.toml"), "--data", str(place / "data"), "--out", "run"]
    assert cli.run(["train", *arguments, "--set", "training.epochs=2"]) == 0
    printed = capsys.readouterr()
    assert "epochs 2, steps" in printed.out
    assert "validation perplexity" in printed.out
    assert "trained in" in printed.out
    assert "next: elman generate run" in printed.out
    assert cli.run(["train", "--resume", "run", "--json"]) == 0  # finished: nothing to do
    data = json.loads(capsys.readouterr().out)
    assert data["run"] == "run"
    assert data["training"]["finished"] is True
    assert data["config"]["training"]["epochs"] == 2
    (tmp_path / "moved").symlink_to(place / "data")
    assert cli.run(["train", "--resume", "run", "--data", "moved"]) == 0


def test_a_training_that_still_improves_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sentences(tmp_path / "data")  # too much to learn in two epochs
    training = 'epochs = 2\noptimizer = "adam"\nlearning_rate = 0.02\nvalidate_every = 0.25'
    write_recipe(tmp_path / "tiny.toml", training=training)
    assert cli.run(["train", "tiny.toml", "--data", "data", "--out", "my run"]) == 0
    said = "validation was still improving; to train for longer: "
    command = "elman train --resume 'my run' --set training.epochs=4"
    assert f"{said}{command}\n" in capsys.readouterr().out
    assert cli.run(shlex.split(command)[1:]) == 0
    assert "epochs 4, steps" in capsys.readouterr().out


def test_fine_tuning_from_the_command_line(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [str(place / "tiny.toml"), "--data", str(place / "data")]
    arguments += ["--set", "training.epochs=1"]
    assert cli.run(["train", *arguments, "--out", "first"]) == 0
    assert cli.run(["train", *arguments, "--out", "second", "--from", "first"]) == 0
    assert cli.run(["train", *arguments, "--out", "third", "--from", "none"]) == 2
    assert "none: no such run" in capsys.readouterr().err


TINY = ["train", "tiny.toml", "--data", "data", "--out", "new"]
WRONG: list[tuple[list[str], str]] = [
    (["train", "quik", *TINY[2:]], "unknown recipe 'quik'; did you mean 'quick'"),
    (
        [*TINY, "--set", "training.epoch=3"],
        "unknown setting training.epoch; did you mean 'epochs'",
    ),
    ([*TINY, "--set", "model.hiden_size=3"], "did you mean 'hidden_size'"),
    ([*TINY, "--set", "trainin.epochs=3"], "unknown section 'trainin'; did you mean 'training'"),
    ([*TINY, "--set", "training.epochs=0"], "training.epochs=0"),
    ([*TINY, "--set", "training.epochs=many"], "training.epochs='many'"),
    ([*TINY, "--set", "training.optimizer=adm"], "unknown optimizer 'adm'; did you mean 'adam'"),
    ([*TINY, "--set", "training.schedule=platau"], "did you mean 'plateau'"),
    ([*TINY, "--set", "training.average=emma"], "did you mean 'ema'"),
    ([*TINY, "--set", "training.batch_size=9999"], "too few for training.batch_size=9999"),
    (["train", "tiny.toml", "--out", "new"], "--data is missing"),
    (["train", "tiny.toml", "--data", "data"], "--out is missing"),
    (["train"], "--data is missing"),
    ([*TINY, "--device", "nonsense"], "--device nonsense: cannot be used here"),
    ([*TINY, "--device", ""], "--device"),
    ([*TINY, "--device", "cuda:77"], "--device cuda:77: cannot be used here"),
    ([*TINY, "--threads", "0"], "--threads 0: must be at least 1"),
    ([*TINY, "--threads", "-1"], "--threads -1: must be at least 1"),
    ([*TINY, "--threads", "two"], "--threads"),
    ([*TINY, "--from", "missing"], "missing: no such run"),
    (["train", "--resume", "run", "--out", "new"], "leave out --out"),
    (["train", "tiny.toml", "--resume", "run"], "leave out the recipe"),
    (
        ["train", "--resume", "run", "--set", "model.hidden_size=3"],
        "only training.epochs and training.patience can be changed, not model.hidden_size",
    ),
    (
        ["train", "--resume", "run", "--set", "training.epochs=0.1"],
        "epochs already; set training.epochs",
    ),
    (["train", "--resume", "run", "--columns", "text=a,label=b"], "leave out --columns"),
    (["train", "--resume", "run", "--seed", "0"], "leave out --seed"),
    (["train", "--resume", "run", "--from", "run"], "leave out --from"),
    (["train", "--resume", "missing"], "missing: no such run"),
    (["train", "--resume", "data"], "data: not an elman run folder"),
    (["train", "--resume", "counts"], "counts: this run cannot be resumed"),
    (["train", "--resume", "run", "--threads", "0"], "--threads 0"),
    (["train", "--resume", "run", "--device", "nonsense"], "--device nonsense"),
    (["train", "--resume", "run", "--data", "other.txt"], "other.txt: this is not the text that"),
    (["train", "--resume", "run", "--data", "missing.txt"], "missing.txt: no such file"),
]


@pytest.fixture(scope="module")
def runs(place: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        train("tiny.toml", data="data", out="run", overrides=["training.epochs=0.5"])
        train("ngram", data="data", out="counts")
        (place / "other.txt").write_text("a b c d e f\n" * 60)
    return place


def written(place: Path) -> dict[Path, int | None]:
    """Every file and folder; when each file was written. A lock that comes and goes is not seen."""
    return {path: path.stat().st_mtime_ns if path.is_file() else None for path in place.rglob("*")}


@pytest.mark.parametrize(("arguments", "culprit"), WRONG, ids=lambda value: " ".join(value)[:60])
def test_wrong_input(
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    arguments: list[str],
    culprit: str,
) -> None:
    monkeypatch.chdir(runs)
    before = written(runs)
    code = cli.run(arguments)
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.endswith("…")]  # progress
    assert len(lines) == 1
    assert lines[0].startswith("elman: ")
    assert culprit in lines[0]
    assert out == ""
    assert code == 2
    assert written(runs) == before


def test_columns_of_a_table_are_named_and_understood(
    call: Any, tmp_path: Path, without_curves: None
) -> None:
    rows = [f"{n};a film {n};{'good' if n % 2 else 'bad'};{n % 3}\n" for n in range(20)]
    (tmp_path / "films.csv").write_text("id;words;mood;shelf\n" + "".join(rows))
    small = ("--set", "model.hidden_size=4", "--set", "training.epochs=0.2", "--threads", "1")
    given = ("--data", str(tmp_path / "films.csv"), *small)
    refused = call("train", "classifier", *given, "--out", str(tmp_path / "run"))
    assert refused.code == 2
    assert "first row: id, words, mood, shelf" in refused.err
    given = (*given, "--columns", "text=words,label=mood")
    result = call("train", "classifier", *given, "--out", str(tmp_path / "run"))
    assert result.code == 0
    understood = "films.csv: 4 columns, text = words, label = mood, 2 labels\n"
    assert result.err.count(understood) == 1
    assert understood in call("plan", "classifier", *given).err
    refused = call("train", "tagger", "--out", str(tmp_path / "none"), *given)
    assert refused.code == 2
    assert "--columns is for tables, which the model 'tagger' does not read" in refused.err
    refused = call("plan", "quick", *given)
    assert refused.code == 2
    assert "columns: unknown role 'label' for such a table; known: text, time" in refused.err
