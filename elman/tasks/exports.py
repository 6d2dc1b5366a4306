"""Models of this program in the formats of others.

Takes a `TrainedModel` and a path, writes a file.
"""

from __future__ import annotations

from pathlib import Path

from elman.errors import InputError
from elman.formats.arpa_writer import write_arpa
from elman.models.ngram import NGram
from elman.tasks.language_modelling.trained import TrainedModel


def export_arpa(trained: TrainedModel, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a count model as an ARPA file."""
    path = Path(path)
    if not isinstance(trained.model, NGram):
        raise InputError(f"{trained.name}: is not a count model; only those can be written as ARPA")
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file to write")
        if path.exists() and not overwrite:
            raise InputError(f"{path}: exists already; choose another name or add --overwrite")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    write_arpa(path, trained.model.tables, trained.tokenizer.tokens)
