"""Merge several back-off models into one: static interpolation.

    p(w | h) = sum over models of weight * p_model(w | h)        for every n-gram of any model,

and new back-off weights for the rest (SRILM calls it a static mixture). Every stored n-gram has
exactly the interpolated probability. An n-gram that no model stores is backed off once, instead of
once per model, so there the result differs slightly from interpolating at each word.

Each model may have its own vocabulary. A word that a model lacks has probability zero in this
model; in a context it is read as `<unk>`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elman.counts.normalising import ngram_words, normalised, score_last
from elman.counts.tables import NOTHING, OrderTable, Tables
from elman.text.tokenizer import EOS, UNKNOWN

Array = np.ndarray


@dataclass(frozen=True)
class CountModel:
    """A back-off model and its tokens."""

    tables: Tables
    tokens: list[str]

    def ids_in(self, tokens: Sequence[str]) -> tuple[Array, Array]:
        """The id here of each of the given tokens: as a word, where it may be missing (-1), and as
        part of a context, where a missing word is `<unk>`.
        """
        numbers = {token: number for number, token in enumerate(self.tokens)}
        as_words = np.array([numbers.get(token, NOTHING) for token in tokens])
        unknown = numbers.get(UNKNOWN, NOTHING)
        return as_words, np.where(as_words >= 0, as_words, unknown)

    def score_rows(self, tokens: Sequence[str], rows: Array) -> Array:
        """Log probability of the last word of each row of ids of the given tokens."""
        as_words, in_contexts = self.ids_in(tokens)
        last = as_words[rows[:, -1]]
        mapped = np.concatenate([in_contexts[rows[:, :-1]], last[:, None]], axis=1)
        return np.where(last >= 0, score_last(self.tables, mapped), -np.inf)

    def score_text(self, tokens: Sequence[str], ids: Array) -> Array:
        """Log probability of every word of a text of ids of the given tokens."""
        as_words, in_contexts = self.ids_in(tokens)
        start = self.tokens.index(EOS)
        row = np.concatenate([[start], in_contexts[ids]])
        return np.where(as_words[ids] >= 0, self.tables.score(row[None])[0], -np.inf)


def joint_tokens(models: Sequence[CountModel]) -> list[str]:
    """The tokens of all models: `<eos>`, `<unk>`, then the others in their order."""
    return [*dict.fromkeys([EOS, UNKNOWN, *(token for model in models for token in model.tokens)])]


def merge(models: Sequence[CountModel], weights: Sequence[float]) -> CountModel:
    """Interpolate several models into one with these weights, which sum to one."""
    tokens = joint_tokens(models)
    places = {token: number for number, token in enumerate(tokens)}
    renamed = [np.array([places[token] for token in model.tokens]) for model in models]
    tables = [_unigrams(models, tokens, weights)]
    numbers = renamed  # of each n-gram of each model, among the merged ones of the same order
    for order in range(2, max(model.tables.order for model in models) + 1):
        keys = [
            _keys(model, order, below, words, len(tokens))
            for model, below, words in zip(models, numbers, renamed, strict=True)
        ]
        every = np.unique(np.concatenate(keys))
        numbers = [np.searchsorted(every, key) for key in keys]
        prefixes, words = every // len(tokens), every % len(tokens)
        nothing = np.zeros(len(every))
        table = OrderTable(prefixes, words, nothing, nothing)
        rows = ngram_words([*tables, table], order)
        table.log_probs = _mixed(models, tokens, weights, rows)
        tables.append(table)
    return CountModel(normalised(Tables(tables, len(tokens), 0)), tokens)


def _keys(model: CountModel, order: int, below: Array, words: Array, size: int) -> Array:
    """The n-grams of a model as (merged prefix, merged word) in one number."""
    if order > model.tables.order:
        return np.zeros(0, dtype=np.int64)
    table = model.tables.tables[order - 1]
    keys: Array = below[table.prefixes] * np.int64(size) + words[table.words]
    return keys


def _unigrams(
    models: Sequence[CountModel], tokens: list[str], weights: Sequence[float]
) -> OrderTable:
    everything = np.arange(len(tokens))
    log_probs = _mixed(models, tokens, weights, everything[:, None])
    return OrderTable(np.zeros_like(everything), everything, log_probs, np.zeros(len(tokens)))


def _mixed(
    models: Sequence[CountModel], tokens: list[str], weights: Sequence[float], rows: Array
) -> Array:
    probs = np.zeros(len(rows))
    for model, weight in zip(models, weights, strict=True):
        probs += weight * np.exp(model.score_rows(tokens, rows))
    with np.errstate(divide="ignore"):
        return np.log(probs)


def fit_weights(log_probs: Array, tolerance: float = 1e-10, most_steps: int = 1000) -> Array:
    """Find the weights that maximise the likelihood of a text, from log probabilities (K, N).

    Expectation maximisation (Jelinek and Mercer 1980). E step: the share of each model in the
    probability of each token. M step: the mean share. The likelihood has one maximum, so the
    initial weights do not matter.
    """
    possible = np.max(log_probs, axis=0) > -np.inf  # skip tokens impossible for all models
    probs = np.exp(log_probs[:, possible] - np.max(log_probs[:, possible], axis=0))
    weights = updated = np.full(len(probs), 1 / len(probs))
    for _ in range(most_steps if possible.any() else 0):
        shares = weights[:, None] * probs
        updated = np.mean(shares / shares.sum(axis=0), axis=1)
        if np.max(np.abs(updated - weights)) < tolerance:
            break
        weights = updated
    return updated / updated.sum()
