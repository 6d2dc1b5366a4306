"""Write a trained model in a format of another program.

Takes a run, a path and the name of a format from `formats.EXPORTS`; called by `Trained.export` and
`elman export`. Whether a format takes a run is decided by what the run has, not by its kind.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from elman.errors import InputError, choose
from elman.figures.files import check_file
from elman.formats import EXPORTS, Exported, ExportFormat


def export_run(run: Any, path: str | Path, to: str = "", *, overwrite: bool = False) -> Exported:
    """Write a run as a file or a folder; without a format, it follows from the run."""
    format_ = _choose(run, to)
    if format_.folder:
        place = _check_folder(Path(path), overwrite=overwrite)
    else:
        place = check_file(str(path), "an export", (), overwrite=overwrite)
    return format_.write(run, place)


def formats_for(run: Any) -> list[str]:
    """The names of the formats that can express a run."""
    return [name for name, format_ in EXPORTS.items() if format_.expresses(run)]


def _choose(run: Any, to: str) -> ExportFormat:
    if to:
        format_: ExportFormat = choose(EXPORTS, to, "format")
        if not format_.takes(run):
            raise _unsupported(run, f"does not support elman export --to {to}")
        return format_
    for format_ in EXPORTS.values():
        if format_.guessed and format_.takes(run):
            return format_
    raise _unsupported(run, "does not support elman export without --to")


def _unsupported(run: Any, said: str) -> InputError:
    known = [f"export --to {name}" for name in formats_for(run)]
    supported = ", ".join([*known, "evaluate", *run.questions])
    return InputError(
        f"{run.name}: a run of the model {run.config.kind!r} {said}; it supports: {supported}"
    )


def _check_folder(path: Path, *, overwrite: bool) -> Path:
    """Check, before the work, that a folder can be written."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; name a folder")
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise InputError(f"{path}: exists already; choose another name or add --overwrite")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written; choose another folder")
    return path
