"""System errors: one clear line, the right exit code, no traceback."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import write_sentences

from elman import cli
from elman.cli.system_errors import system_problem
from elman.runs.folder import read_run
from elman.tasks.task import train


def elman(
    *words: str, stdout: str | None = None, limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program with another output or a limit."""
    with open(stdout or os.devnull, "w") as file:
        return subprocess.run(
            [sys.executable, "-m", "elman", *words],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
            check=False,
        )


def one_line(err: str) -> str:
    """The only line of the error output."""
    lines = [line for line in err.splitlines() if line.startswith("elman: ")]
    assert len(lines) == 1
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    return lines[0]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    train("ngram", data=str(write_sentences(tmp_path / "data")), out=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (MemoryError(), "not enough memory", 1),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "not enough memory", 1),
        (RuntimeError("can't start new thread"), "not enough memory", 1),
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory", 1),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply", 2),
        (UnicodeEncodeError("utf-8", "\udce9", 0, 1, "surrogates not allowed"), "characters", 2),
        (OSError(errno.ENOSPC, "No space left on device"), "output: the disk is full", 1),
        (OSError(errno.EROFS, "Read-only file system", "x/y"), "x/y: the disk is read-only", 1),
        (OSError(errno.EMFILE, "Too many open files", "z"), "z: too many files are open", 1),
        (OSError(errno.EACCES, "Permission denied", "z"), "z: Permission denied", 1),
    ],
    ids=str,
)
def test_every_kind_of_refusal(
    error: Exception,
    said: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(cli, "build_app", fail)
    monkeypatch.setattr(cli, "_drop_output", lambda: None)
    assert cli.run(["list"]) == code
    assert said in one_line(capsys.readouterr().err)


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system_problem(KeyError("x")) is None

    def fail(*arguments: object, **options: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(cli, "build_app", fail)
    with pytest.raises(KeyError):
        cli.run(["list"])


def test_an_output_that_is_full(run: Path) -> None:
    ended = elman("list", "cells", stdout="/dev/full")
    assert ended.returncode == 1
    assert one_line(ended.stderr) == "elman: output: the disk is full"


def test_an_output_that_is_closed() -> None:
    ended = elman("list", "cells", limit=lambda: os.close(1))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_too_little_memory(run: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))

    ended = elman("suggest", str(run), "the", limit=limit)  # torch alone takes more
    assert ended.returncode == 1
    assert "not enough memory" in one_line(ended.stderr)


def test_a_training_whose_notes_nobody_can_read(tmp_path: Path) -> None:
    data = write_sentences(tmp_path / "data")
    command = [sys.executable, "-m", "elman", "train", "small", "--data", str(data)]
    command += ["--out", str(tmp_path / "run"), "--set", "training.epochs=1"]
    command += ["--set", "model.hidden_size=6", "--set", "model.embedding_size=6"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False)
    assert ended.returncode == 0
    assert b"saved in" in ended.stdout


def test_a_terminal_that_closes_saves_the_training(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    out, data = tmp_path / "run", write_sentences(tmp_path / "data")
    command = [sys.executable, "-m", "elman", "train", "small", "--data", str(data)]
    command += ["--out", str(out), "--set", "training.epochs=100000", "--threads", "1"]
    command += ["--set", "training.validate_every=1000"]
    number, terminal = pty.fork()
    if number == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
        os.execv(command[0], command)
    latest = time.monotonic() + 60
    while time.monotonic() < latest:
        if (out / "history.jsonl").exists() and (out / "history.jsonl").stat().st_size:
            break
        time.sleep(0.05)
    os.close(terminal)
    latest = time.monotonic() + 60
    ended = (0, 0)
    while not ended[0] and time.monotonic() < latest:
        ended = os.waitpid(number, os.WNOHANG)
        time.sleep(0.05)
    if not ended[0]:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
    assert ended[0] == number, "the training went on after its terminal had closed"
    assert os.waitstatus_to_exitcode(ended[1]) == 128 + signal.SIGHUP
    assert read_run(out)["training.json"]["trainer"]["step"] >= 50
