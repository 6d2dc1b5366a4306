"""Perplexity of a document: its tokens are scored, added up, and the way is put on record.

Takes a model, its tokenizer and a document, gives a `Measurement`; called by `TrainedModel`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from elman.errors import ElmanError, InputError
from elman.evaluation.measurement import Measurement, Protocol, measure
from elman.evaluation.reading import STREAM, Progress, Reading, silent
from elman.evaluation.scoring import each_token, score_ids
from elman.models.contract import LanguageModel
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer

_MOST_NATS = 700  # per token: exp gives infinity soon after
_ADVICE = "It has diverged: train, or adapt, with a lower rate"


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
    _refuse_divergence(model, log_probs, document.name)
    anew = reading.reset == "line" or model.resets_at_lines
    protocol = Protocol(
        unit=tokenizer.name + (", lower case" if tokenizer.lowercase else ""),
        vocabulary_size=len(tokenizer),
        state="every line by itself" if anew else "state carried from line to line",
        unknown="" if tokenizer.unknown_id is None else "what is unknown counts as <unk>",
        text=f"{document.name} sha256:{document.sha256()[:12]}",
        normalise="" if tokenizer.normaliser.form == "none" else tokenizer.normaliser.form,
        vocabulary=hashlib.sha256("\n".join(tokenizer.tokens).encode()).hexdigest()[:12],
    )
    unknown = tokenizer.count_unknown(document.text, ids)
    measured = measure(log_probs, ids, document.text, protocol, eos_id, unknown)
    if model.always_defined:
        return measured
    undefined = each_token(model, ids, model.undefined, eos_id, reading, silent)
    return replace(measured, undefined=int(undefined.sum()))


def _refuse_divergence(model: LanguageModel, log_probs: np.ndarray, name: str) -> None:
    """An error where a network gives numbers that are no probabilities, or beyond what exp can say.

    Counts may well give a token the probability zero: then the perplexity is infinite, truly.
    """
    lost = np.isnan(log_probs)
    if _has_network(model):
        lost |= np.isinf(log_probs)
    if lost.any():
        raise ElmanError(
            f"{name}: cannot be measured; the model gives {lost.sum():,} of {len(lost):,} tokens "
            f"NaN or infinity as their log probability. {_ADVICE}"
        )
    nats = -float(log_probs[np.isfinite(log_probs)].sum()) / len(log_probs)
    if nats > _MOST_NATS:
        raise ElmanError(
            f"{name}: cannot be measured; {nats:.3g} nats per token are beyond any perplexity that "
            f"can be written. {_ADVICE}"
        )


def _has_network(model: Any) -> bool:
    """Whether it is a network, or an adapter around one."""
    inside = getattr(model, "models", None)
    if isinstance(inside, list | tuple):
        return any(_has_network(part) for part in inside)
    return hasattr(model, "parameters")
