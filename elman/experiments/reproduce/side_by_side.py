"""Are two trainings of one thread each faster on this machine, or one of two threads?

The answer decides how many workers to start, and how many threads each has. It is measured once,
for some seconds, with steps like those of a small LSTM, and stored in the folder. The measured
program is this module: `python -m elman.experiments.reproduce.side_by_side THREADS SECONDS` prints
steps per second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from elman.atomic import replacing
from elman.errors import ElmanError

_FILE = "workers.json"
_SECONDS = 6.0
_MODULE = "elman.experiments.reproduce.side_by_side"


@dataclass(frozen=True)
class Speeds:
    """Total steps per second over all trainings."""

    cores: int
    one_of_two_threads: float
    two_of_one_thread: float

    @property
    def workers(self) -> int:
        return 2 if self.two_of_one_thread > self.one_of_two_threads else 1


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measured_speeds(out: Path) -> Speeds:
    """The stored speeds, or new measurements, which are then stored."""
    path, cores = out / _FILE, usable_cores()
    try:
        kept = Speeds(**json.loads(path.read_text(encoding="utf-8")))
        if kept.cores == cores:
            return kept
    except (OSError, ValueError, TypeError):
        pass  # not measured yet, or by another version
    speeds = Speeds(
        cores=cores,
        one_of_two_threads=round(sum(_measure(1, 2)), 2),
        two_of_one_thread=round(sum(_measure(2, 1)), 2),
    )
    out.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(asdict(speeds), indent=1) + "\n", encoding="utf-8")
    return speeds


def _measure(processes: int, threads: int) -> list[float]:
    """Steps per second of each of several processes that run at the same time."""
    command = [sys.executable, "-m", _MODULE, str(threads), str(_SECONDS)]
    begun = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    said = [process.communicate()[0] for process in begun]
    if any(process.returncode for process in begun):
        raise ElmanError("could not measure the speed of two workers; set --workers to 1 or 2")
    return [float(text) for text in said]


def _steps_per_second(threads: int, seconds: float) -> float:
    import torch

    nn = torch.nn
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    size, words, rows, window = 200, 10_000, 20, 35
    network = nn.ModuleList([nn.LSTM(size, size, 2), nn.Linear(size, words)])
    inputs, targets = torch.randn(window, rows, size), torch.randint(words, (window * rows,))

    def step() -> None:
        hidden = network[0](inputs)[0].flatten(0, 1)
        loss = nn.functional.cross_entropy(network[1](hidden), targets)
        torch.autograd.backward(loss)

    step()
    started, steps = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        step()
        steps += 1
    return steps / (time.perf_counter() - started)


if __name__ == "__main__":
    print(_steps_per_second(int(sys.argv[1]), float(sys.argv[2])))
