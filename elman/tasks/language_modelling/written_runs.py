"""Runs as they are written on the command line, with adapters and a name of their own.

    runs/lstm                                     a run folder
    runs/lstm+mix:run=runs/kn5                    the run in adapters, as after --with
    mixture=runs/lstm+mix:run=runs/kn5            the same, called mixture in tables

Takes such texts, gives trained language models; called by commands that compare several models. A
folder whose name looks like one of these is still read as a folder.
"""

import re
from pathlib import Path

from elman.errors import InputError
from elman.evaluation.measures import Progress, silent
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


def open_written(written: str, progress: Progress = silent) -> TrainedModel:
    """Load a run as it is written; missing settings of adapters are fitted on its valid split."""
    name, run, adapters = split_written(written)
    trained = load(run, TrainedModel)
    if adapters:
        trained = trained.with_adapters(adapters, progress=progress)
    return trained.named(name or written)


def split_written(written: str) -> tuple[str, str, list[str]]:
    """The name ("" if none is given), the run folder, and the adapters."""
    if Path(written).exists():
        return "", written, []
    name = ""
    if found := _NAMED.fullmatch(written):
        name, written = found.groups()
    if Path(written).exists():
        return name, written, []
    run, *adapters = written.split("+")
    if not run or not all(adapters):
        raise InputError(f"{written}: write RUN or RUN+ADAPTER, like runs/lstm+mix:run=runs/kn5")
    return name, run, adapters
