"""Count models in and out as ARPA files, which KenLM, SRILM and other toolkits read and write.

Called by `elman import` and `elman export`; the format itself is in `formats/`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from elman.counts.estimate import IMPORTED, NgramConfig
from elman.errors import InputError
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import write_arpa
from elman.models.ngram import NGram
from elman.recipes import RunConfig
from elman.tasks.language_modelling.counting import Counting
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.tokenizer import TextConfig
from elman.text.words import Words


def import_arpa(path: str | Path) -> TrainedModel:
    """The back-off model in an ARPA file; its words are split at white space."""
    tables, tokens = read_arpa(Path(path))
    # How the probabilities came about is not in the file; they are used as they are.
    model = NGram(tables, NgramConfig(order=tables.order, smoothing=IMPORTED))
    config = RunConfig(
        recipe="import",
        seed=0,
        text=TextConfig(tokenizer="words"),
        kind="ngram",
        model=model.config,
    )
    sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    facts = {
        "model": model.facts(),
        "data": {"name": str(path), "sha256": {str(path): sha256}, "notes": []},
        "validation": None,
    }
    return TrainedModel(Counting(config, Words(tokens)), model, facts)


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
