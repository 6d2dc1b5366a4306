"""The deadline of a queue."""

import os
import signal
import threading
import time

import pytest

from elman.errors import InputError
from elman.experiments.reproduce.deadline import Deadline, OutOfTime, Terminated
from elman.training.budget import parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("30m", 1800), ("30 min", 1800), ("2h", 7200), ("1.5h", 5400), ("1d", 86400)],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "30x", "-3m", "nan h"])
def test_bad_times(text: str) -> None:
    with pytest.raises(InputError, match="write a time like 45s, 30m, 2h or 1d"):
        parse_time(text)


def wait_inside(deadline: Deadline) -> None:
    latest = time.monotonic() + 30
    with deadline.stopping():
        while time.monotonic() < latest:
            time.sleep(0.01)


def test_work_is_cut_short_when_the_time_is_up() -> None:
    deadline = Deadline(0.1)
    started = time.monotonic()
    with pytest.raises(OutOfTime):
        wait_inside(deadline)
    assert time.monotonic() - started < 30
    assert deadline.is_over()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_signal_from_outside_is_no_end_of_the_time() -> None:
    before = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
    before.start()
    with pytest.raises(Terminated):
        wait_inside(Deadline(60))
    before.join()


def test_a_worker_ends_with_the_process_that_started_it(monkeypatch) -> None:
    deadline = Deadline(60, with_parent=True)
    assert not deadline.is_over()
    monkeypatch.setattr("elman.experiments.reproduce.deadline.os.getppid", lambda: 1)
    assert deadline.is_over()
