"""Merging of back-off models: exact where an n-gram is stored, and sums to one everywhere."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from elman.counts.merging import CountModel, fit_weights, joint_tokens, merge
from elman.counts.normalising import ngram_words, normalised
from elman.counts.tables import Tables
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import write_arpa
from elman.text.grammar import grammar_text
from elman.text.words import Words

Fit = Callable[..., tuple[Tables, Words]]
KenLM = Callable[[Path, list[str]], list[list[float]]]
LEFT = "a b\na b a\nb a\nc a b\na\n"
RIGHT = "a d\nd d b\nb d <unk> a\nd\n"  # lacks c, has d


def _model(fit: Fit, text: str | None, **settings: object) -> CountModel:
    tables, words = fit(text, **settings)
    return CountModel(tables, words.tokens)


def _probability(model: CountModel, history: list[str], word: str) -> float:
    """p(word | history), where a missing word of the history is `<unk>`; 0 for a missing word."""
    if word not in model.tokens:
        return 0.0
    known = [token if token in model.tokens else "<unk>" for token in history]
    row = np.array([[model.tokens.index(token) for token in [*known, word]]])
    if row.shape[1] == 1:
        return float(np.exp(model.tables.tables[0].log_probs[row[0, 0]]))
    return float(np.exp(model.tables.score(row)[0, -1]))


@pytest.fixture(params=["witten-bell", "modified-kneser-ney", "katz"])
def pair(request: pytest.FixtureRequest, fit: Fit) -> list[CountModel]:
    left = _model(fit, LEFT, order=3, smoothing=request.param)
    return [left, _model(fit, RIGHT, order=2, smoothing="witten-bell")]


def test_every_stored_ngram_has_the_interpolated_probability(pair: list[CountModel]) -> None:
    merged = merge(pair, [0.3, 0.7])
    assert merged.tokens == ["<eos>", "<unk>", "a", "b", "c", "d"]
    assert merged.tables.order == 3
    for order in (1, 2, 3):
        table = merged.tables.tables[order - 1]
        for row, log_prob in zip(
            ngram_words(merged.tables.tables, order), table.log_probs, strict=True
        ):
            *history, word = [merged.tokens[number] for number in row]
            expected = sum(
                weight * _probability(model, history, word)
                for weight, model in zip((0.3, 0.7), pair, strict=True)
            )
            assert np.exp(log_prob) == pytest.approx(expected, abs=1e-12)


def test_the_ngrams_are_those_of_both_models(pair: list[CountModel]) -> None:
    merged = merge(pair, [0.5, 0.5])
    for order in (2, 3):
        expected = set()
        for model in pair:
            if order <= model.tables.order:
                rows = ngram_words(model.tables.tables, order)
                expected |= {tuple(model.tokens[number] for number in row) for row in rows}
        rows = ngram_words(merged.tables.tables, order)
        assert {tuple(merged.tokens[number] for number in row) for row in rows} == expected
        assert len(rows) == len(expected)


def test_every_distribution_sums_to_one(pair: list[CountModel]) -> None:
    merged = merge(pair, [0.9, 0.1])
    contexts = np.array(list(product(range(6), repeat=2)))
    np.testing.assert_allclose(np.exp(merged.tables.predict(contexts)).sum(axis=1), 1, atol=1e-12)


def test_a_model_merged_with_itself_stays_the_same(fit: Fit) -> None:
    model = _model(fit, LEFT, order=3)
    merged = merge([model, model], [0.4, 0.6])
    contexts = np.array(list(product(range(5), repeat=2)))
    expected = model.tables.predict(contexts)
    np.testing.assert_allclose(merged.tables.predict(contexts), expected, atol=1e-9)


def test_weight_one_gives_the_probabilities_of_that_model(pair: list[CountModel]) -> None:
    merged = merge(pair, [1.0, 0.0])
    assert _probability(merged, ["a"], "b") == pytest.approx(_probability(pair[0], ["a"], "b"))
    assert _probability(merged, ["a"], "d") == 0.0


def test_scores_of_a_text_are_those_of_its_rows(pair: list[CountModel]) -> None:
    tokens = joint_tokens(pair)
    ids = Words(tokens).encode("a c d\nb\n")
    for model in pair:
        history, expected = ["<eos>"], []
        for number in ids:
            expected.append(_probability(model, history[-2:], tokens[number]))
            history.append(tokens[number])
        np.testing.assert_allclose(np.exp(model.score_text(tokens, ids)), expected, atol=1e-12)


def test_fitted_weights_are_the_best_ones(fit: Fit) -> None:
    model, other = _model(fit, LEFT, order=2), _model(fit, RIGHT, order=2)
    tokens = joint_tokens([model, other])
    ids = Words(tokens).encode(LEFT + "d d b\n")
    log_probs = np.stack([each.score_text(tokens, ids) for each in (model, other)])
    weights = fit_weights(log_probs)

    def likelihood(weight: float) -> float:
        return float(
            np.log(weight * np.exp(log_probs[0]) + (1 - weight) * np.exp(log_probs[1])).sum()
        )

    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmax([likelihood(weight) for weight in grid])]
    assert weights[0] == pytest.approx(best, abs=0.002)


def test_weights_of_contexts_that_were_right_do_not_change(fit: Fit) -> None:
    tables, _ = fit(order=4, smoothing="witten-bell")
    again = normalised(tables)
    for table, copy in zip(tables.tables[:-1], again.tables[:-1], strict=True):
        np.testing.assert_allclose(copy.log_backoffs, table.log_backoffs, atol=1e-9)


def test_kenlm_reads_a_merged_model(tmp_path: Path, fit: Fit, kenlm_scores: KenLM) -> None:
    models = [
        _model(fit, None, order=4),
        _model(fit, "the man walks .\nMary sees a boy .\n", order=3),
    ]
    merged = merge(models, [0.8, 0.2])
    write_arpa(tmp_path / "merged.arpa", merged.tables, merged.tokens)
    sentences = [*grammar_text("test", 40).splitlines(), "the man sees zebra", "Mary man a ."]
    words = Words(merged.tokens)
    for sentence, scores in zip(
        sentences, kenlm_scores(tmp_path / "merged.arpa", sentences), strict=True
    ):
        row = np.concatenate([[0], words.encode(sentence + "\n")])
        np.testing.assert_allclose(
            scores, merged.tables.score(row[None])[0] / np.log(10), atol=1e-4
        )
    assert read_arpa(tmp_path / "merged.arpa")[1] == merged.tokens
