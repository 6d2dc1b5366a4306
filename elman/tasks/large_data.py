"""Plan large data from a sample: pieces from all over a file instead of all of it.

Takes the value of --data, gives a path to data of a few megabytes with the same splits, and its
share of the whole; a plan of the sample is then enlarged. Called by `task.py`. Only files of lines
are sampled: compressed files, JSON and CSV are read as a whole, since a line is no unit there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from elman.tasks.task import Plan
from elman.text.files import local_files

_LARGE = 50_000_000  # bytes of all files
_SAMPLED = 8_000_000  # bytes of a sample
_PIECES = 16  # per file
_WHOLE = (".gz", ".json", ".csv", ".npy", ".npz", ".parquet")


@contextmanager
def sampled(data: str) -> Iterator[tuple[str, float]]:
    """A path and its share of the data; the data itself and 1 if it is small enough."""
    files = _files(Path(data))
    size = sum(path.stat().st_size for path in files)
    if size <= _LARGE or any(path.suffix.lower() in _WHOLE for path in files):
        yield data, 1.0
        return
    share = _SAMPLED / size
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            (Path(folder) / path.name).write_bytes(_pieces(path, share))
        yield (str(Path(folder) / files[0].name) if os.path.isfile(data) else folder), share


def enlarge(plan: Plan, share: float, data: str) -> Plan:
    """The plan of the whole data from that of a sample with this share."""
    if share == 1:
        return plan
    note = f"planned from a sample of {share:.1%} of the data; its vocabulary is extrapolated"
    others = [one.replace(plan.data, data) for one in plan.notes]
    return replace(
        plan,
        data=data,
        tokens=round(plan.tokens / share),
        steps=round(plan.steps / share),
        teraflop=plan.teraflop / share,
        validation_teraflop=plan.validation_teraflop / share,
        seconds=plan.seconds / share,
        reading_seconds=plan.reading_seconds / share,
        notes=[note, *others],
    )


def _files(path: Path) -> list[Path]:
    try:
        if os.path.isfile(path):
            return [path]
        return local_files(path) if os.path.isdir(path) else []
    except OSError:
        return []  # opening the data reports it


def _pieces(path: Path, share: float) -> bytes:
    """Whole lines from evenly spaced places of a file."""
    size = path.stat().st_size
    length = max(1, int(size * share / _PIECES))
    found = []
    with path.open("rb") as file:
        for number in range(_PIECES):
            file.seek(number * size // _PIECES)
            if number:
                file.readline()  # the rest of a line
            found += [file.read(length), file.readline()]
    return b"".join(found)
