"""Train a language model: corpus, tokenizer, ids, model, run folder.

Takes a recipe and data, gives a `TrainedModel` and, if a place was named, a run folder. Count
models are fitted here; neural ones are handed on to `neural_training.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.errors import InputError
from elman.models import MODELS
from elman.runs.folder import refuse_existing
from elman.tasks.language_model import TrainedModel, load
from elman.tasks.recipes import RunConfig, load_recipe
from elman.text import train_tokenizer
from elman.text.corpora import Corpus, open_corpus
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from elman.tasks.neural_training import Machine

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
) -> TrainedModel:
    """Train what a recipe describes on a file, a folder or an embedded corpus.

    `overrides` are words like "model.order=3". With `out`, the run is saved there; that of a neural
    model also while it is trained, so that `resume` can go on. `start_from` is a run whose
    vocabulary and weights a neural model begins with (fine-tuning).
    """
    config = load_recipe(recipe, overrides, seed)
    if out is not None and (machine is None or machine.processes.rank == 0):
        refuse_existing(Path(out), overwrite)  # before the work, not after it
    if config.training is None:
        if start_from is not None:
            raise InputError(f"--from {start_from}: a count model has nothing to begin with")
        return _train_counts(config, data, out, overwrite, progress)
    from elman.tasks.neural_training import train_neural

    return train_neural(
        config,
        str(data),
        out=None if out is None else Path(out),
        overwrite=overwrite,
        before=None if start_from is None else load(start_from),
        machine=machine,
        progress=progress,
    )


def _train_counts(
    config: RunConfig, data: str, out: str | Path | None, overwrite: bool, progress: Progress
) -> TrainedModel:
    started = time.perf_counter()
    progress("reading")
    corpus = open_corpus(str(data), labelled=config.text.labelled)
    progress("tokenizing")
    tokenizer, ids = learn_tokenizer(corpus.split("train"), config)
    model = MODELS.choose(config.kind).fit(
        ids,
        config.model,
        vocabulary_size=len(tokenizer),
        eos_id=tokenizer.eos_id,
        progress=progress,
    )
    progress("validating")
    facts = {
        "model": model.facts(),
        "data": data_facts(corpus, tokenizer, ids),
        "validation": _validate(corpus, tokenizer, model),
        "seconds": round(time.perf_counter() - started, 3),
    }
    trained = TrainedModel(tokenizer, model, config, facts)
    if out is not None:
        progress("saving")
        trained.save(out, overwrite=overwrite)
    return trained


def learn_tokenizer(document: Document, config: RunConfig) -> tuple[Tokenizer, np.ndarray]:
    """The tokenizer of a training text and its ids; the settings then name the one it is."""
    with named(document):
        tokenizer, ids = train_tokenizer(document.text, config.text)
    config.text.tokenizer = tokenizer.name
    return tokenizer, ids


def data_facts(corpus: Corpus, tokenizer: Tokenizer, ids: np.ndarray) -> dict[str, Any]:
    """What is worth knowing later about the text that a model was trained on."""
    document = corpus.split("train")
    sources = [*corpus.documents.values(), *([corpus.whole] if corpus.whole else [])]
    return {
        "name": corpus.name,
        "sha256": {source.name: source.sha256() for source in sources},
        "lines": document.lines,
        "empty_lines": count_empty_lines(document.text),
        "tokens": len(ids),
        "unknown_tokens": tokenizer.count_unknown(document.text, ids),
        "notes": [*corpus.notes, *(n for d in corpus.documents.values() for n in d.notes)],
    }


def count_empty_lines(text: str) -> int:
    """Lines without a character; each still counts as one line end."""
    return text.split("\n")[:-1].count("")


def _validate(corpus: Corpus, tokenizer: Tokenizer, model: Any) -> dict[str, Any] | None:
    """Perplexity on the validation text, as a first idea; `evaluate` is the full measurement."""
    if "valid" not in corpus.documents:
        return None
    ids = tokenizer.encode(corpus.documents["valid"].text)
    nats = float(-model.log_probs(ids).sum())
    perplexity = math.exp(nats / len(ids)) if math.isfinite(nats) else None
    return {"perplexity": perplexity, "tokens": len(ids)}
