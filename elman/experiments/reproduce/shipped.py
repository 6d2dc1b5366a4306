"""The results that come with elman: measured by its authors, shown until there are results here.

In a wheel the file lies beside this one; in a checkout it is `docs/results.json`, which the wheel
is made from.
"""

from __future__ import annotations

from pathlib import Path

from elman.experiments.reproduce.results import Kept, read_kept

_PLACES = (
    Path(__file__).parent / "results.json",
    Path(__file__).parents[3] / "docs" / "results.json",
)


def shipped_file() -> Path | None:
    """The file; None if there is none, as in a copy of the package without the repository."""
    return next((path for path in _PLACES if path.is_file()), None)


def read_shipped() -> Kept:
    """What it holds."""
    path = shipped_file()
    return Kept() if path is None else read_kept(path)
