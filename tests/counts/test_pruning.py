"""Entropy pruning, against the relative entropy computed by brute force over all histories."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from elman.counts.merging import CountModel
from elman.counts.normalising import ngram_words, normalised
from elman.counts.pruning import (
    history_log_probs,
    keeping_prefixes,
    perplexity_changes,
    prune,
    threshold_for,
)
from elman.counts.tables import NOTHING, OrderTable, Tables
from elman.formats.arpa_writer import write_arpa
from elman.text.grammar import grammar_text
from elman.text.words import Words

Fit = Callable[..., tuple[Tables, Words]]
KenLM = Callable[[Path, list[str]], list[list[float]]]
TEXT = "a b c\na b a\nb a c c\nc a b\na\nb c b\na a b\n"


def _model(fit: Fit, text: str = TEXT, **settings: object) -> CountModel:
    tables, words = fit(text, **{"order": 3, **settings})
    return CountModel(tables, words.tokens)


def _without(tables: Tables, order: int, number: int) -> Tables:
    """The model of this order without one n-gram, normalised again."""
    kept = np.arange(len(tables.tables[order - 1])) != number
    table = tables.tables[order - 1]
    smaller = OrderTable(
        table.prefixes[kept], table.words[kept], table.log_probs[kept], table.log_backoffs[kept]
    )
    return normalised(replace(tables, tables=[*tables.tables[: order - 1], smaller]))


def _history_probability(histories: Tables, history: tuple[int, ...]) -> float:
    """P(history) by the chain rule, one word after the other."""
    probability = 1.0
    for place, word in enumerate(history):
        known = list(history[:place])
        padded = [NOTHING] * (max(histories.order - 1, 1) - len(known)) + known
        context = np.array([padded[-max(histories.order - 1, 1) :]])
        probability *= float(np.exp(histories.predict(context)[0, word]))
    return probability


def _brute_force(model: CountModel, histories: CountModel, order: int, number: int) -> float:
    """sum over all histories h and words w of P(h) p(w|h) (log p(w|h) - log p'(w|h))."""
    whole = replace(model.tables, tables=model.tables.tables[:order])
    pruned = _without(whole, order, number)
    divergence = 0.0
    for history in product(range(len(model.tokens)), repeat=order - 1):
        context = np.array([history])
        before, after = (
            whole.predict(context)[0],
            pruned.predict(context[:, -max(pruned.order - 1, 1) :])[0],
        )
        divergence += _history_probability(histories.tables, history) * float(
            np.sum(np.exp(before) * (before - after))
        )
    return divergence


@pytest.mark.parametrize("smoothing", ["witten-bell", "absolute", "modified-kneser-ney"])
def test_the_divergence_of_every_ngram_by_brute_force(smoothing: str, fit: Fit) -> None:
    model = _model(fit, smoothing=smoothing)
    histories = _model(fit, smoothing="witten-bell", order=2)
    changes = perplexity_changes(model, histories)
    assert [len(change) for change in changes] == [len(t) for t in model.tables.tables[1:]]
    for order, change in enumerate(changes, 2):
        for number, found in enumerate(change):
            expected = _brute_force(model, histories, order, number)
            assert np.log1p(found) == pytest.approx(expected, abs=1e-12), (order, number)


def test_histories_are_a_distribution(fit: Fit) -> None:
    model = _model(fit, smoothing="witten-bell")
    everything = {
        pair: _history_probability(model.tables, pair) for pair in product(range(5), repeat=2)
    }
    assert sum(everything.values()) == pytest.approx(1)
    found = history_log_probs(model, model)[1]
    for row, log_prob in zip(ngram_words(model.tables.tables, 2), found, strict=True):
        assert np.exp(log_prob) == pytest.approx(everything[tuple(row.tolist())])


def test_histories_may_have_another_vocabulary(fit: Fit) -> None:
    model = _model(fit, smoothing="witten-bell")
    other = _model(fit, "b a <unk>\n<unk> a\n", order=2, smoothing="witten-bell")  # lacks c
    log_probs = dict(zip(model.tokens, history_log_probs(model, other)[0], strict=True))
    assert log_probs["c"] == log_probs["<unk>"]
    assert log_probs["a"] == other.tables.tables[0].log_probs[other.tokens.index("a")]


@pytest.mark.parametrize("keep", [0, 1, 5, 12, 1000])
def test_a_pruned_model_has_the_wanted_size_and_sums_to_one(keep: int, fit: Fit) -> None:
    model = _model(fit)
    needed = keeping_prefixes(model, perplexity_changes(model, _model(fit, smoothing="absolute")))
    pruned = prune(model, needed, threshold_for(needed, keep))
    kept = sum(len(table) for table in pruned.tables.tables[1:])
    assert kept <= keep
    assert kept == min(keep, sum(len(table) for table in model.tables.tables[1:])) or keep < 12
    size = max(pruned.tables.order - 1, 1)
    contexts = np.array(list(product(range(5), repeat=size)))
    np.testing.assert_allclose(np.exp(pruned.tables.predict(contexts)).sum(axis=1), 1, atol=1e-12)


def test_the_threshold_decides_and_prefixes_stay(fit: Fit) -> None:
    model = _model(fit, smoothing="witten-bell")
    changes = perplexity_changes(model, model)
    needed = keeping_prefixes(model, changes)
    threshold = float(np.median(np.concatenate(changes)))
    pruned = prune(model, needed, threshold)
    kept = {tuple(row.tolist()) for row in ngram_words(pruned.tables.tables, 3)}
    triples = ngram_words(model.tables.tables, 3)
    assert kept == {tuple(row.tolist()) for row in triples[changes[1] >= threshold]}
    pairs = {tuple(row.tolist()) for row in ngram_words(pruned.tables.tables, 2)}
    own = {
        tuple(row.tolist()) for row in ngram_words(model.tables.tables, 2)[changes[0] >= threshold]
    }
    assert pairs == own | {triple[:2] for triple in kept}
    assert pairs != own  # at least one pair is only a prefix


def test_a_threshold_of_zero_keeps_the_scores(fit: Fit) -> None:
    tables, words = fit(order=4)
    model = CountModel(tables, words.tokens)
    pruned = prune(model, keeping_prefixes(model, perplexity_changes(model, model)), -np.inf)
    row = np.concatenate([[0], words.encode(grammar_text("test", 20))])[None]
    np.testing.assert_allclose(pruned.tables.score(row), tables.score(row), atol=1e-9)


def test_kenlm_reads_a_pruned_model(tmp_path: Path, fit: Fit, kenlm_scores: KenLM) -> None:
    tables, words = fit(order=4)
    model = CountModel(tables, words.tokens)
    histories = CountModel(fit(order=3, smoothing="katz")[0], words.tokens)
    needed = keeping_prefixes(model, perplexity_changes(model, histories))
    size = sum(len(table) for table in tables.tables[1:])
    pruned = prune(model, needed, threshold_for(needed, size // 4))
    write_arpa(tmp_path / "pruned.arpa", pruned.tables, pruned.tokens)
    sentences = [*grammar_text("test", 40).splitlines(), "boys zebra walk .", "", "walks walks"]
    for sentence, scores in zip(
        sentences, kenlm_scores(tmp_path / "pruned.arpa", sentences), strict=True
    ):
        row = np.concatenate([[0], words.encode(sentence + "\n")])
        np.testing.assert_allclose(
            scores, pruned.tables.score(row[None])[0] / np.log(10), atol=1e-4
        )
