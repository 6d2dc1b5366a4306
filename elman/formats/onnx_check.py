"""Whether a run can be written as ONNX graphs; needs none of the packages for ONNX."""

from __future__ import annotations

from typing import Any

from elman.errors import InputError
from elman.formats.arpa_writer import is_exportable
from elman.formats.portable_settings import describe
from elman.models.ngram import NGram


def check(run: Any) -> None:
    """Refuse a run whose model cannot become graphs, with the reason."""
    if isinstance(run.model, NGram):
        arpa = "; recognisers read it as ARPA: elman export RUN --to arpa FILE"
        raise InputError(
            f"{run.name}: an n-gram model is a table without arithmetic for ONNX"
            + (arpa if is_exportable(run) else "")
        )
    describe(run.model)
