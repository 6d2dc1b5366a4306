"""Entropies and ranks without whole distributions equal those of whole distributions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from elman.counts.compact import compact
from elman.counts.estimate import NgramConfig
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import OrderTable, Tables
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import write_arpa
from elman.models.contract import measure_spread
from elman.models.ngram import NGram
from elman.text.words import Words

RANDOM = np.random.default_rng(7)
TEXT = RANDOM.zipf(1.3, 3000) % 40  # many words are rare, and <eos>, 0, is not
UNSEEN = RANDOM.zipf(1.2, 400) % 40


def both(model: NGram, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of each id: ours, and from whole distributions."""
    batch = torch.from_numpy(ids).view(4, -1)
    ours, _ = model.spread(batch, model.start(4))
    whole, _ = model.predict_all(batch, model.start(4))
    return ours.numpy(), measure_spread(batch, whole).numpy()


def assert_equal(model: NGram, ids: np.ndarray = UNSEEN) -> None:
    ours, whole = both(model, ids)
    np.testing.assert_allclose(ours, whole, rtol=0, atol=1e-9)


@pytest.mark.parametrize("smoothing", sorted(SMOOTHERS))
@pytest.mark.parametrize("context", ["line", "stream"])
@pytest.mark.parametrize("cutoffs", [(), (1, 1, 2)])
def test_every_smoother(smoothing: str, context: str, cutoffs: tuple[int, ...]) -> None:
    config = NgramConfig(order=4, smoothing=smoothing, context=context, cutoffs=cutoffs)
    assert_equal(NGram.fit(TEXT, config, vocabulary_size=40, eos_id=0))


def test_a_context_after_which_nearly_every_word_was_seen() -> None:
    # Word 2 has the rest of the unigrams, 1e-11, and 0.1 after word 0: a weight of 1e10, by which
    # the rounding error of 1 - (q0 + q1) would be multiplied.
    unigrams = np.log([0.5, 0.5 - 1e-11, 1e-11])
    weights = np.array([np.log(0.1) - np.log(1e-11), 0.0, 0.0])
    words = OrderTable(np.zeros(3, dtype=int), np.arange(3), unigrams, weights)
    pairs = OrderTable(np.zeros(2, dtype=int), np.arange(2), np.log([0.6, 0.3]), np.zeros(2))
    model = NGram(Tables([words, pairs], 3, 0), NgramConfig(order=2, smoothing="imported"))
    columns, _ = model.spread(torch.tensor([[2]]), model.start(1))
    entropy = -0.6 * np.log(0.6) - 0.3 * np.log(0.3) - 0.1 * np.log(0.1)
    assert columns[0, 0].tolist() == pytest.approx([np.log(0.1), 0, entropy, 3], abs=1e-9)
    assert_equal(model, UNSEEN % 3)


@pytest.mark.parametrize("order", [1, 2])
def test_low_orders(order: int) -> None:
    assert_equal(NGram.fit(TEXT, NgramConfig(order=order), vocabulary_size=40, eos_id=0))


def test_orders_without_ngrams() -> None:
    assert_equal(NGram.fit(TEXT[:2], NgramConfig(order=5), vocabulary_size=40, eos_id=0))


def test_a_file_that_lacks_suffixes(
    tmp_path: Path, fit: Callable[..., tuple[Tables, Words]]
) -> None:
    # Pruned files of other toolkits hold n-grams whose suffix is missing: "a b c" without "b c".
    tables, words = fit(order=3)
    write_arpa(tmp_path / "whole.arpa", tables, words.tokens)
    head, bigrams = (tmp_path / "whole.arpa").read_text().split("\\2-grams:\n")
    lines, rest = bigrams.split("\n\n\\3-grams:")
    kept = [line for number, line in enumerate(lines.split("\n")) if number % 3]
    head = head.replace(f"ngram 2={lines.count(chr(10)) + 1}", f"ngram 2={len(kept)}")
    text = head + "\\2-grams:\n" + "\n".join(kept) + "\n\n\\3-grams:" + rest
    (tmp_path / "pruned.arpa").write_text(text)
    pruned, tokens = read_arpa(tmp_path / "pruned.arpa")
    ids = RANDOM.integers(0, len(tokens), 400)
    assert_equal(NGram(pruned, NgramConfig(order=3, smoothing="imported")), ids)


def test_a_quantised_model_whose_probabilities_do_not_sum_to_one() -> None:
    model = NGram.fit(TEXT, NgramConfig(order=4), vocabulary_size=40, eos_id=0)
    rounded = NGram(compact(model.tables), model.config)
    whole = rounded.predict(rounded.start(1)).exp().sum()
    assert abs(float(whole) - 1) > 1e-9
    assert_equal(rounded)


def test_equal_words_have_equal_ranks() -> None:
    # Words never seen have the same probability in every context, by the same additions.
    ids = TEXT % 20
    model = NGram.fit(ids, NgramConfig(order=4), vocabulary_size=40, eos_id=0)
    rows = np.stack([[UNSEEN[0] % 20, 3, word] for word in range(20, 40)])
    columns, _ = model.spread(torch.from_numpy(rows), model.start(20))
    assert len(set(columns[:, 2, 3].tolist())) == 1
