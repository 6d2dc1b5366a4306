"""What the system refuses is one clear line, with the right exit code and never a traceback."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import write_sentences

from elman import cli
from elman.cli.system_errors import system_problem
from elman.tasks.training import train


def elman(
    *words: str, stdout: str | None = None, limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """The program, with another output or a limit."""
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
    """The only line, which is ours."""
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

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(cli, "_drop_output", lambda: None)
    assert cli.run(["list"]) == code
    assert said in one_line(capsys.readouterr().err)


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system_problem(KeyError("x")) is None

    def fail(*arguments: object, **options: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(cli, "app", fail)
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
