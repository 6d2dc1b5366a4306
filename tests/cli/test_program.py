"""The program as a process: imports, pipes, terminals."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def process(*arguments: str, place: Path, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["train", "--help"],
        ["study", "--help"],
        ["list", "recipes"],
        ["train", "ngram", "--data", "data", "--out", "without-torch"],
        ["data", "data"],
        ["export", "words", "without-torch.arpa"],
        ["explain", "words", "--text", "the cat"],
    ],
    ids=" ".join,
)
def test_what_needs_no_torch_does_not_import_it(arguments: list[str], place: Path) -> None:
    script = (
        "import sys\nfrom elman.cli import run\n"
        f"assert run({arguments!r}) == 0\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    running = process("-c", script, place=place)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors.decode()


def test_the_reader_of_a_pipe_may_leave(place: Path, sentences: Callable[[int, int], str]) -> None:
    (place / "long.txt").write_text(sentences(3000, 8))
    running = process("-m", "elman", "surprisal", "words", "long.txt", place=place)
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.readline().startswith(b"line\t")
    running.stdout.close()
    said = running.stderr.read().splitlines()
    assert all(line.startswith((b"note: ", b"tokens: ")) for line in said), said
    running.stderr.close()
    assert running.wait(timeout=60) == 0


def test_what_a_terminal_cannot_show_is_no_reason_to_fail(place: Path) -> None:
    surroundings = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    running = process("-m", "elman", "suggest", "words", "the", place=place, env=surroundings)
    shown, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")
    assert b"probability" in shown


def test_only_the_called_command_is_imported(place: Path) -> None:
    script = (
        "import sys\nfrom elman.cli import run\nassert run(['data', 'data']) == 0\n"
        "commands = {name for name in sys.modules if name.startswith('elman.cli.')}\n"
        "assert 'elman.cli.data' in commands\n"
        "assert not commands & {'elman.cli.train', 'elman.cli.list', 'elman.cli.ask'}, commands\n"
    )
    running = process("-c", script, place=place)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors.decode()
