"""Models that other programs trained, as runs of this one.

Takes their files, gives a `TrainedModel`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from elman.counts.estimate import IMPORTED, NgramConfig
from elman.formats.arpa_reader import read_arpa
from elman.models.ngram import NGram
from elman.recipes import RunConfig
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
    return TrainedModel(Words(tokens), model, config, facts)
