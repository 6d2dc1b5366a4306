"""Train a language model: recipe and data to a trained model and its run folder.

Takes a recipe and data, gives a `TrainedModel` and, if a place was named, a run folder. Count
models are fitted here; neural ones are handed on to `neural_training.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.models import MODELS, SENTENCE_MODELS
from elman.recipes import RunConfig, load_recipe
from elman.runs.claim import claimed, refuse_existing
from elman.runs.folder import explained, fill
from elman.tasks.language_modelling.trained import TrainedModel, load
from elman.tasks.language_modelling.training_text import TrainingText, read_training_text
from elman.tasks.plugins import keep_origins
from elman.training.machine import Machine

Progress = Callable[[str], None]


def train(
    recipe: str = "ngram",
    *,
    data: str,
    out: str | Path | None = None,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    overwrite: bool = False,
    start_from: str | Path | None = None,
    machine: Machine | None = None,
    progress: Progress = lambda what: None,
) -> Any:
    """Train what a recipe describes on a file, a folder or a built-in corpus.

    `overrides` are words like "model.order=3". With `out`, the run is saved there; that of a neural
    model also while it is trained, so that `resume` can go on. `start_from` is a run whose
    vocabulary and weights a neural model begins with (fine-tuning). Gives a `TrainedModel`, or of a
    task what that gives, like a `TrainedTagger`.
    """
    config = load_recipe(recipe, overrides, seed)
    machine = machine or Machine()
    place = None if out is None else Path(out)
    if place is not None and machine.processes.rank == 0:
        refuse_existing(place, overwrite)  # before the work, not after it
    if config.kind in SENTENCE_MODELS:
        from elman.tasks.sentence_training import train_sentences  # with torch

        return train_sentences(
            config,
            str(data),
            before=None if start_from is None else load(start_from),
            out=place,
            overwrite=overwrite,
            machine=machine,
            progress=progress,
        )
    if config.training is not None:
        from elman.tasks.neural_training import train_neural  # with torch

        return train_neural(
            config,
            str(data),
            out=place,
            overwrite=overwrite,
            before=None if start_from is None else load(start_from),
            machine=machine,
            progress=progress,
        )
    if start_from is not None:
        raise InputError(f"--from {start_from}: a count model has nothing to begin with")
    if place is None:
        return _count(config, str(data), progress)
    with claimed(place, overwrite=overwrite) as claim:  # now, so that nobody else counts for it
        trained = _count(config, str(data), progress)
        progress("saving")
        contents = trained.contents()
        with explained(place, contents):
            fill(claim.folder, contents)
            claim.publish()
    return trained


def _count(config: RunConfig, data: str, progress: Progress) -> TrainedModel:
    started = time.perf_counter()
    text = read_training_text(data, config, progress)
    tokenizer = text.tokenizer
    model = MODELS.choose(config.kind).fit(
        text.ids,
        config.model,
        vocabulary_size=len(tokenizer),
        eos_id=tokenizer.eos_id,
        progress=progress,
    )
    progress("validating")
    facts = {
        "model": model.facts(),
        "data": text.facts(),
        "validation": _validate(text, model),
        "seconds": round(time.perf_counter() - started, 3),
    }
    keep_origins(facts, config)
    return TrainedModel(tokenizer, model, config, facts)


def _validate(text: TrainingText, model: Any) -> dict[str, Any] | None:
    """Perplexity on the validation text, as a first idea; `evaluate` is the full measurement."""
    ids = text.validation_ids()
    if ids is None:
        return None
    nats = float(-model.log_probs(ids).sum())
    perplexity = math.exp(nats / len(ids)) if math.isfinite(nats) else None
    return {"perplexity": perplexity, "tokens": len(ids)}
