"""A run that is killed at any moment resumes exactly from its last checkpoint."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any

import pytest
from outcome import differences, outcome
from stopping import OPTIMIZERS, STREAM, recipe

from elman.runs.folder import read_run
from elman.tasks.task import load

SCRIPT = Path(__file__).with_name("forked_trainings.py")


class Nursery:
    """Starts trainings and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # so that `select` sees all there is
        )
        assert self._answer() == b"ready"

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def train(self, command: dict[str, Any], seconds: float | None) -> int:
        """Train until killed after so many seconds; 0, or the signal that ended it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        child = int(self._answer())
        if seconds is not None and not select([self._process.stdout], [], [], seconds)[0]:
            # It may just have ended by itself, but nobody else can have its number so soon.
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return int(self._answer())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(10) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def last_noted(notes: Path, what: str) -> int:
    lines = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
    return next((int(number) for name, number in reversed(lines) if name == what), 0)


def kill_often(nursery: Nursery, place: Path, data: Path, kills: int) -> None:
    """Kill trainings at random moments; when one gets through, it must be as if never killed."""
    drawn = random.Random(0)
    settings = [*STREAM, *OPTIMIZERS["sgd"]]
    settings += ["training.save_minutes=0", "training.epochs=0.7"]
    options = {"recipe": recipe(data), "data": str(data), "overrides": settings}
    command: dict[str, Any] = {"options": options}
    straight = place / "straight"
    command |= {"out": str(straight), "notes": str(place / "straight-notes")}
    begun = time.perf_counter()
    assert nursery.train(command, None) == 0
    life = time.perf_counter() - begun
    whole = outcome(straight)
    killed = runs = 0
    out = notes = place
    while killed < kills or out.exists():
        if not out.exists() or out == place:
            runs += 1
            out, notes = place / f"run{runs}", place / f"notes{runs}"
        command |= {"out": str(out), "notes": str(notes)}
        moment = drawn.uniform(0, life) if killed < kills else None
        status = nursery.train(command, moment)
        if status == 0:
            assert differences(whole, outcome(out)) == []
            shutil.rmtree(out)
            continue
        assert status == signal.SIGKILL
        killed += 1
        if not out.exists():
            assert last_noted(notes, "step") == 0
            continue
        parts = read_run(out)  # every file is whole
        assert {"last.safetensors", "weights.safetensors"} <= parts.keys()
        assert load(out).model is not None
        step = parts["training.json"]["trainer"]["step"]
        assert step >= last_noted(notes, "saved")
        assert step >= last_noted(notes, "step") - 1  # every step is a checkpoint
    assert killed == kills


def test_killed_at_a_few_random_moments(nursery: Nursery, tmp_path: Path, data: Path) -> None:
    kill_often(nursery, tmp_path, data, 8)


@pytest.mark.slow
def test_killed_at_a_hundred_random_moments(nursery: Nursery, tmp_path: Path, data: Path) -> None:
    kill_often(nursery, tmp_path, data, 100)
