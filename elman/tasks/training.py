"""Train a language model: corpus, tokenizer, ids, model, run folder.

Takes a recipe and data, gives a `TrainedModel` and, if a place was named, a run folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from elman.models import model_class
from elman.runs.folder import refuse_existing
from elman.tasks.language_model import TrainedModel
from elman.tasks.recipes import load_recipe
from elman.text import train_tokenizer
from elman.text.corpora import Corpus, open_corpus
from elman.text.reader import Document, named
from elman.text.tokenizer import Tokenizer

Progress = Callable[[str], None]


def train(
    recipe: str = "ngram",
    *,
    data: str,
    out: str | Path | None = None,
    overrides: Iterable[str] = (),
    seed: int | None = None,
    overwrite: bool = False,
    progress: Progress = lambda what: None,
) -> TrainedModel:
    """Train what a recipe describes on a file, a folder or an embedded corpus.

    `overrides` are words like "model.order=3". With `out`, the run is saved there.
    """
    started = time.perf_counter()
    config = load_recipe(recipe, overrides, seed)
    if out is not None:
        refuse_existing(Path(out), overwrite)  # before the work, not after it
    progress("reading")
    corpus = open_corpus(str(data))
    document = corpus.split("train")
    progress("tokenizing")
    with named(document):
        tokenizer, ids = train_tokenizer(document.text, config.text)
    config.text.tokenizer = tokenizer.name
    model = model_class(config.kind).fit(
        ids,
        config.model,
        vocabulary_size=len(tokenizer),
        eos_id=tokenizer.eos_id,
        progress=progress,
    )
    progress("validating")
    facts = _facts(corpus, document, tokenizer, ids, model)
    facts["seconds"] = round(time.perf_counter() - started, 3)
    trained = TrainedModel(tokenizer, model, config, facts)
    if out is not None:
        progress("saving")
        trained.save(out, overwrite=overwrite)
    return trained


def _facts(
    corpus: Corpus, document: Document, tokenizer: Tokenizer, ids: np.ndarray, model: Any
) -> dict[str, Any]:
    """What is worth knowing about a training later."""
    sources = [*corpus.documents.values(), *([corpus.whole] if corpus.whole else [])]
    return {
        "model": model.facts(),
        "data": {
            "name": corpus.name,
            "sha256": {source.name: source.sha256() for source in sources},
            "lines": document.lines,
            "empty_lines": count_empty_lines(document.text),
            "tokens": len(ids),
            "unknown_tokens": tokenizer.count_unknown(document.text, ids),
            "notes": [*corpus.notes, *(n for d in corpus.documents.values() for n in d.notes)],
        },
        "validation": _validate(corpus, tokenizer, model),
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
