"""Runs as they are written on the command line, with adapters and a name of their own.

    runs/lstm                                     a run folder
    runs/lstm+mix:run=runs/kn5                    the run in adapters, as after --with
    mixture=runs/lstm+mix:run=runs/kn5            the same, called mixture in tables

Takes such texts, gives trained language models; called by commands that compare several models. A
folder whose name looks like one of these is still read as a folder.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from elman.errors import InputError
from elman.evaluation.measures import STREAM, Progress, silent
from elman.tasks.language_modelling.adapter_fitting import load_model, put_around
from elman.tasks.language_modelling.trained import TrainedModel

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


_STAY_OPEN = 4  # runs in memory, so that a mixture shares its parts with runs before it


def open_all(written: Sequence[str], progress: Progress = silent) -> Iterator[TrainedModel]:
    """Load runs one after another; a run that is named again within a few runs is not loaded
    again, so the mixture of two runs has the same parts as the runs themselves.
    """
    open_run = lru_cache(maxsize=_STAY_OPEN)(load_model)
    return (open_written(one, progress, open_run) for one in written)


def open_written(
    written: str, progress: Progress = silent, open_run: Callable[[str], TrainedModel] = load_model
) -> TrainedModel:
    """Load a run as it is written; missing settings of adapters are fitted on its valid split."""
    name, run, adapters = split_written(written)
    trained = open_run(run)
    if adapters:
        trained = put_around(trained, adapters, None, STREAM, progress, open_run)
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
