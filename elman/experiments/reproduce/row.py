"""One row of a published table from Python: `elman.reproduce`.

Takes the names of a table and a row, returns the row with its result and verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from elman.errors import InputError
from elman.experiments.reproduce.data import require_data
from elman.experiments.reproduce.measuring import reproduce_row
from elman.experiments.reproduce.registry import named_tables
from elman.experiments.reproduce.status import Status, obstacle, statuses
from elman.experiments.reproduce.workshop import Workshop
from elman.training.machine import Machine


def reproduce(
    table: str,
    row: str,
    *,
    run: bool = False,
    data: str | Path = "",
    out: str | Path = "reproduced",
    again: bool = False,
    machine: Machine | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Status:
    """Compare a published figure with ours: `elman.reproduce("ptb", "kn5").verdict`.

    By default, nothing is trained: the result is the one in the folder `out`, or the one that ships
    with elman. With `run`, the row is trained and measured if `out` has no result for it; with
    `again`, it is measured in any case. `data` is the folder of the table's dataset, or a folder
    that contains it; the default is the environment variable ELMAN_DATA. `table` may also be a TOML
    file of your own.
    """
    if again and not run:
        raise InputError("again=True measures a row again; give run=True too")
    known, (chosen,) = named_tables([table])
    wanted = chosen.row(row)
    folder = Path(out)
    workshop = Workshop(known, folder, folder / "results.json", machine or Machine(), progress)
    if run:
        if reason := obstacle(wanted):
            raise InputError(f"{chosen.name} {wanted.name}: {reason}")
        text = require_data(chosen, str(data)) if wanted.recipe else ""
        reproduce_row(workshop, chosen, wanted, text, again=again)
    found = statuses(known, [chosen], workshop.known())
    return next(status for status in found if status.row is wanted)
