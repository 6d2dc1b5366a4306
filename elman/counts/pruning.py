"""Make a back-off model smaller by entropy pruning (Stolcke 1998).

Removing an n-gram (h, w) changes p(w | h) to a backed-off probability and, because everything must
still sum to one, the back-off weight of h from a to a'. The relative entropy between the models is

    D = -P(h) * ( p(w|h) * (log p(w|shorter h) + log a' - log p(w|h))
                  + (log a' - log a) * (1 - sum of p(v|h) over stored v) ).

An n-gram is removed if the perplexity rises by less than a threshold: exp(D) - 1 < threshold. Each
n-gram is judged as if it alone were removed. A prefix of a kept n-gram is kept.

P(h) is the probability of seeing the history h, by the chain rule. The lower orders of a Kneser-Ney
model are not marginal probabilities, so its P(h) is far off; take P(h) from another model (SRILM:
-prune-history-lm; Chelba et al. 2010).
"""

from dataclasses import replace

import numpy as np

from elman.counts.merging import CountModel
from elman.counts.normalising import Masses, masses, ngram_words, normalised
from elman.counts.tables import OrderTable, Tables

Array = np.ndarray


def history_log_probs(model: CountModel, histories: CountModel) -> list[Array]:
    """Log P of every n-gram of a model as a history, for each order below the highest."""
    tables = model.tables.tables
    log_probs: list[Array] = []
    for order in range(1, len(tables)):
        rows = ngram_words(tables, order)
        last = _read_as_unknown(histories, model.tokens, rows)
        below = log_probs[-1][tables[order - 1].prefixes] if log_probs else 0.0
        log_probs.append(below + last)
    return log_probs


def _read_as_unknown(histories: CountModel, tokens: list[str], rows: Array) -> Array:
    """Log probability of the last word of each row; a word that is missing there is `<unk>`."""
    _, in_contexts = histories.ids_in(tokens)
    mapped = in_contexts[rows]
    scored = histories.score_rows(histories.tokens, np.maximum(mapped, 0))
    return np.where((mapped >= 0).all(axis=1), scored, -np.inf)


def perplexity_changes(model: CountModel, histories: CountModel) -> list[Array]:
    """The relative rise of the perplexity if each n-gram alone is removed, from order 2."""
    tables = model.tables.tables
    changes = []
    for order, history in enumerate(history_log_probs(model, histories), 2):
        lower = Tables(tables[: order - 1], model.tables.vocabulary_size, model.tables.eos_id)
        table, rows = tables[order - 1], ngram_words(tables, order)
        found = masses(lower, table, rows)
        changes.append(_changes(table, found, np.exp(history)))
    return changes


def _changes(table: OrderTable, found: Masses, history: Array) -> Array:
    h = table.prefixes
    left, left_shorter = found.left[h], np.maximum(found.left_shorter[h], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_after = np.log(left + found.probs) - np.log(left_shorter + found.shorter)
        log_before = np.log(left) - np.log(left_shorter)
        own = found.probs * (np.log(found.shorter) + log_after - table.log_probs)
        others = np.where(left > 0, (log_after - log_before) * left, 0.0)
        divergence = -history[h] * (own + others)
    # An n-gram of probability zero changes nothing; one that only it makes possible must stay.
    divergence = np.where(found.probs > 0, divergence, 0.0)
    return np.expm1(np.where(np.isnan(divergence), np.inf, divergence))


def keeping_prefixes(model: CountModel, changes: list[Array]) -> list[Array]:
    """The same changes, where a prefix counts at least as much as the n-grams that need it."""
    needed = [change.copy() for change in changes]
    for index in range(len(needed) - 2, -1, -1):
        longer = model.tables.tables[index + 2]
        np.maximum.at(needed[index], longer.prefixes, needed[index + 1])
    return needed


def threshold_for(needed: list[Array], keep: int) -> float:
    """The lowest threshold that keeps at most so many n-grams of order 2 and more."""
    every = np.sort(np.concatenate(needed))[::-1] if needed else np.zeros(0)
    if keep >= len(every):
        return -np.inf
    return float(np.nextafter(every[keep], np.inf))


def prune(model: CountModel, needed: list[Array], threshold: float) -> CountModel:
    """Remove the n-grams below the threshold and compute new back-off weights."""
    tables = [model.tables.tables[0]]
    renumbered = np.arange(len(tables[0]))
    for table, change in zip(model.tables.tables[1:], needed, strict=True):
        kept = change >= threshold
        tables.append(
            OrderTable(
                renumbered[table.prefixes[kept]],
                table.words[kept],
                table.log_probs[kept],
                table.log_backoffs[kept],
                None if table.counts is None else table.counts[kept],
            )
        )
        renumbered = np.cumsum(kept) - 1
    while len(tables) > 1 and not len(tables[-1]):
        tables.pop()
    pruned = replace(model.tables, tables=tables, discounts=[])
    return CountModel(normalised(pruned), model.tokens)
