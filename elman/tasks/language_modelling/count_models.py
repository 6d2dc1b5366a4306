"""Merge and prune count models: ARPA files or runs in, an ARPA file out.

The arithmetic is in `counts/merging.py` and `counts/pruning.py`. Needs no torch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elman.counts.estimate import IMPORTED, NgramConfig, estimate
from elman.counts.merging import CountModel, fit_weights, joint_tokens, merge
from elman.counts.pruning import keeping_prefixes, perplexity_changes, prune, threshold_for
from elman.errors import InputError
from elman.figures.files import check_file
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import check_exportable, write_arpa
from elman.models.ngram import NGram
from elman.notebooks import Table, Tabular
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load
from elman.text.corpora import open_corpus
from elman.text.words import Words

Told = Callable[[str], None]
_HISTORY_SMOOTHING = "katz"  # its lower orders are close to marginal probabilities
_UNEVEN = 1e-3  # by how much the unigrams of a file may miss one before a note says so


@dataclass(frozen=True)
class OpenedModel:
    """A count model from an ARPA file or a run."""

    name: str
    model: CountModel
    smoothing: str
    lowercase: bool = False
    of_words: bool = True  # whether its tokens are words between white space

    @property
    def is_kneser_ney(self) -> bool:
        return "kneser-ney" in self.smoothing


@dataclass(frozen=True)
class Merged(Tabular):
    """The result of a merge."""

    file: str
    models: list[str]
    weights: list[float]
    perplexities: list[float | None]  # of each model on the text; none without a text
    perplexity: float | None  # of the merged model on the text
    tokens: int | None  # of the text
    ngrams: list[int]
    vocabulary_size: int
    notes: list[str]

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    def as_table(self) -> Table:
        """One row per model, and one for all of them if a text was given."""
        measured = self.perplexities or [None] * len(self.models)
        rows = [[*row] for row in zip(self.models, self.weights, measured, strict=True)]
        if self.perplexity is not None:
            rows.append(["merged", None, self.perplexity])
        return Table(["model", "weight", "perplexity"], rows)


@dataclass(frozen=True)
class Pruned(Tabular):
    """The result of a pruning."""

    file: str
    threshold: float | None
    ngrams_before: list[int]
    ngrams: list[int]
    perplexity_before: float | None  # on the text, if there is one
    perplexity: float | None
    tokens: int | None
    notes: list[str]

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    def as_table(self) -> Table:
        """One row per order, the sum, and the perplexity if a text was given."""
        after = self.ngrams + [0] * (len(self.ngrams_before) - len(self.ngrams))
        rows: list[list[Any]] = [
            [*row] for row in zip(range(1, 99), self.ngrams_before, after, strict=False)
        ]
        rows.append(["all", sum(self.ngrams_before), sum(after)])
        if self.tokens is not None:
            rows.append(["perplexity", self.perplexity_before, self.perplexity])
        return Table(["order", "before", "after"], rows)


def open_count_model(path: str | Path) -> OpenedModel:
    """Open an ARPA file or a run of an n-gram model."""
    if not Path(path).is_dir():
        tables, tokens = read_arpa(path)
        return OpenedModel(str(path), CountModel(tables, tokens), IMPORTED)
    trained = load(path, TrainedModel)
    if not isinstance(trained.model, NGram):
        raise InputError(f"{path}: not a count model; give ARPA files or runs of n-gram models")
    tokenizer, tables = trained.tokenizer, trained.model.tables
    check_exportable(tables, tokenizer.tokens)
    model = CountModel(tables, tokenizer.tokens)
    return OpenedModel(
        name=str(path),
        model=model,
        smoothing=trained.model.config.smoothing,
        lowercase=tokenizer.lowercase,
        of_words=isinstance(tokenizer, Words),
    )


def merge_models(
    models: Sequence[str],
    out: str | Path,
    *,
    weights: Sequence[float] | None = None,
    data: str | None = None,
    overwrite: bool = False,
    progress: Told = lambda what: None,
) -> Merged:
    """Interpolate count models into one ARPA file, with given weights or weights fitted on a text.

    models: ARPA files or runs. data: the text for the weights; of a folder, its valid split.
    """
    if len(models) < 2:
        raise InputError("merging needs at least two models; give several ARPA files or runs")
    if weights is None and data is None:
        raise InputError("give the weights (--weights 0.7,0.3) or a text to fit them on (--data)")
    place = check_file(str(out), "an ARPA file", (), overwrite=overwrite)
    if weights is not None:
        weights = _checked(weights, len(models))
    progress("reading")
    opened = [open_count_model(path) for path in models]
    parts = [each.model for each in opened]
    tokens, perplexities, ids = joint_tokens(parts), [], None
    if data is not None:
        ids = _encode(opened, tokens, data, "valid")
        log_probs = np.stack([part.score_text(tokens, ids) for part in parts])
        perplexities = [_perplexity(row) for row in log_probs]
        weights = fit_weights(log_probs).tolist() if weights is None else weights
    assert weights is not None
    progress("merging")
    merged = merge(parts, weights)
    progress("writing")
    write_arpa(place, merged.tables, merged.tokens)
    return Merged(
        file=str(out),
        models=[*map(str, models)],
        weights=[*weights],
        perplexities=perplexities,
        perplexity=None if ids is None else _perplexity(merged.score_text(tokens, ids)),
        tokens=None if ids is None else len(ids),
        ngrams=[len(table) for table in merged.tables.tables],
        vocabulary_size=len(tokens),
        notes=[note for each in opened for note in _uneven(each)],
    )


def prune_model(
    model: str | Path,
    out: str | Path,
    *,
    threshold: float | None = None,
    keep: int | None = None,
    histories: str | None = None,
    data: str | None = None,
    overwrite: bool = False,
    progress: Told = lambda what: None,
) -> Pruned:
    """Remove the n-grams of a count model that matter least, and write an ARPA file.

    threshold: remove n-grams that raise the perplexity by less than this, relatively. keep: remove
    as many as needed to keep so many of order 2 and more. histories: an ARPA file or run that gives
    the probabilities of histories, or the training text, on which such a model is estimated.
    data: a text to measure the perplexity on before and after.
    """
    if (threshold is None) == (keep is None):
        raise InputError("give either --threshold or --keep, not both or neither")
    if threshold is not None and not threshold >= 0:
        raise InputError(f"--threshold {threshold}: must be 0 or more, as in 1e-8")
    if keep is not None and keep < 0:
        raise InputError(f"--keep {keep}: must not be negative")
    place = check_file(str(out), "an ARPA file", (), overwrite=overwrite)
    progress("reading")
    opened = open_count_model(model)
    past, notes = _histories(opened, histories, progress)
    progress("weighing n-grams")
    needed = keeping_prefixes(opened.model, perplexity_changes(opened.model, past))
    limit = threshold if threshold is not None else threshold_for(needed, int(keep or 0))
    pruned = prune(opened.model, needed, limit)
    progress("writing")
    write_arpa(place, pruned.tables, pruned.tokens)
    ids = None if data is None else _encode([opened], pruned.tokens, data, "test")
    return Pruned(
        file=str(out),
        threshold=limit if math.isfinite(limit) else None,
        ngrams_before=[len(table) for table in opened.model.tables.tables],
        ngrams=[len(table) for table in pruned.tables.tables],
        perplexity_before=_perplexity_on(opened.model, ids),
        perplexity=_perplexity_on(pruned, ids),
        tokens=None if ids is None else len(ids),
        notes=notes,
    )


def _checked(weights: Sequence[float], number: int) -> list[float]:
    """The weights, divided by their sum."""
    if len(weights) != number:
        raise InputError(f"there are {number} models but {len(weights)} weights; give one for each")
    if any(not 0 <= weight < math.inf for weight in weights) or not sum(weights) > 0:
        written = ", ".join(f"{weight:g}" for weight in weights)
        raise InputError(f"weights {written}: must be 0 or more, and not all 0")
    return [weight / sum(weights) for weight in weights]


def _histories(
    opened: OpenedModel, histories: str | None, progress: Told
) -> tuple[CountModel, list[str]]:
    """The model that gives the probabilities of histories, and notes about it."""
    if histories is None:
        if opened.is_kneser_ney or opened.smoothing == IMPORTED:
            certain = "this is" if opened.is_kneser_ney else "if this is"
            note = (
                f"{certain} a Kneser–Ney model, whose lower orders misjudge how frequent a history "
                "is; pruning is better with --histories and the training text"
            )
            return opened.model, [note]
        return opened.model, []
    if _holds_model(histories):
        past = open_count_model(histories)
        doubt = f"{histories}: a Kneser–Ney model misjudges how frequent a history is"
        return past.model, [doubt] if past.is_kneser_ney else []
    progress("counting histories")
    tokens = opened.model.tokens
    ids = _encode([opened], tokens, histories, "train")
    order = max(opened.model.tables.order - 1, 1)
    config = NgramConfig(order=order, smoothing=_HISTORY_SMOOTHING)
    eos_id = opened.model.tables.eos_id
    tables = estimate(ids, config, vocabulary_size=len(tokens), eos_id=eos_id)
    return CountModel(tables, tokens), []


def _holds_model(path: str) -> bool:
    """Whether a path is a run folder or an ARPA file, and not a text."""
    place = Path(path)
    if place.is_dir():
        return (place / "manifest.json").exists()
    return ".arpa" in place.suffixes


def _encode(opened: Sequence[OpenedModel], tokens: list[str], data: str, split: str) -> np.ndarray:
    """The ids of a text: all of a single file, or a split of a folder or a built-in corpus."""
    for each in opened:
        if not each.of_words:
            raise InputError(f"{each.name}: its tokens are not words, so it cannot read {data}")
    lowercase = any(each.lowercase for each in opened)
    corpus = open_corpus(data)
    document = corpus.whole if corpus.whole is not None else corpus.split(split)
    return Words(tokens, lowercase).encode(document.text)


def _perplexity_on(model: CountModel, ids: np.ndarray | None) -> float | None:
    return None if ids is None else _perplexity(model.score_text(model.tokens, ids))


def _perplexity(log_probs: np.ndarray) -> float | None:
    """The perplexity; None if a token is impossible."""
    mean = -float(np.mean(log_probs)) if len(log_probs) else math.inf
    return math.exp(mean) if math.isfinite(mean) else None


def _uneven(opened: OpenedModel) -> list[str]:
    total = float(np.exp(opened.model.tables.tables[0].log_probs).sum())
    if abs(total - 1) < _UNEVEN:
        return []
    return [f"{opened.name}: its 1-grams sum to {total:.4f}, not to 1"]
