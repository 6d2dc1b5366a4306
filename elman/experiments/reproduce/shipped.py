"""The results that ship with elman: shown for rows that have no result here.

In a wheel the file is next to this one. In a checkout it is `docs/results.json`, which is copied
into the wheel.
"""

from __future__ import annotations

from pathlib import Path

from elman.experiments.reproduce.results import Kept, read_kept

_PLACES = (
    Path(__file__).parent / "results.json",
    Path(__file__).parents[3] / "docs" / "results.json",
)


def shipped_file() -> Path | None:
    """The file; None if it is missing, as in a copy of the package without the repository."""
    return next((path for path in _PLACES if path.is_file()), None)


def read_shipped() -> Kept:
    """Read the file; empty if it is missing."""
    path = shipped_file()
    return Kept() if path is None else read_kept(path)
