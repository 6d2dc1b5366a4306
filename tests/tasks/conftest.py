"""A small text, a folder for its run, and signals in given steps."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from stopping import stop_at
from tiny import write_sentences


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_sentences(tmp_path / "data")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def stopping() -> Iterator[list[int]]:
    """The steps in which a signal comes; none until the test names some."""
    steps: list[int] = []
    with stop_at(steps, signal.SIGINT):
        yield steps
