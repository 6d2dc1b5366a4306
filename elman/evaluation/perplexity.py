"""Perplexity of a document: its tokens are scored, added up, and the way is put on record.

Takes a model, its tokenizer and a document, gives a `Measurement`; called by `TrainedModel`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from elman.errors import InputError
from elman.evaluation.measurement import Measurement, Protocol, measure
from elman.evaluation.reading import STREAM, Progress, Reading, silent
from elman.evaluation.scoring import each_token, score_ids
from elman.models.contract import LanguageModel
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer


def measure_document(
    model: LanguageModel,
    tokenizer: Tokenizer,
    document: Document,
    reading: Reading = STREAM,
    progress: Progress = silent,
) -> Measurement:
    """What a model gives a document, with the protocol."""
    with named(document):
        ids = tokenizer.encode(document.text)
    if len(ids) == 0:
        raise InputError(f"{document.name}: there is nothing to measure in an empty text")
    eos_id = tokenizer.eos_id
    log_probs = score_ids(model, ids, eos_id=eos_id, reading=reading, progress=progress)
    anew = reading.reset == "line" or model.resets_at_lines
    protocol = Protocol(
        unit=tokenizer.name + (", lower case" if tokenizer.lowercase else ""),
        vocabulary_size=len(tokenizer),
        state="every line by itself" if anew else "state carried from line to line",
        unknown="" if tokenizer.unknown_id is None else "what is unknown counts as <unk>",
        text=f"{document.name} sha256:{document.sha256()[:12]}",
        vocabulary=hashlib.sha256("\n".join(tokenizer.tokens).encode()).hexdigest()[:12],
    )
    unknown = tokenizer.count_unknown(document.text, ids)
    measured = measure(log_probs, ids, document.text, protocol, eos_id, unknown)
    if model.always_defined:
        return measured
    undefined = each_token(model, ids, model.undefined, eos_id, reading, silent)
    return replace(measured, undefined=int(undefined.sum()))
