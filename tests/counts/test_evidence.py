"""Evidence of count models: numbers checked by hand, and sums for every smoother."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from elman.counts.estimate import NgramConfig, estimate
from elman.counts.evidence import OrderEvidence, explain
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import NOTHING, Tables
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import write_arpa
from elman.text.grammar import grammar_text
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

# "a b a c" and the end of the line. Words: a twice, b and c and <eos> once, <unk> never.
EOS, UNK, A, B, C = range(5)
TOKENS = ["<eos>", "<unk>", "a", "b", "c"]
TEXT = np.array([A, B, A, C, EOS])


def fit(ids: np.ndarray = TEXT, size: int = 5, **settings: object) -> Tables:
    config = NgramConfig(**{"order": 2, **settings})  # type: ignore[arg-type]
    return estimate(ids, config, vocabulary_size=size, eos_id=EOS)


def check(row: OrderEvidence, **expected: object) -> None:
    for name, value in expected.items():
        found = getattr(row, name)
        assert found == (pytest.approx(value) if isinstance(value, float) else value), name


def test_kneser_ney_by_hand() -> None:
    second, first, uniform = explain(fit(smoothing="kneser-ney"), [EOS, A], B, interpolated=True)
    check(uniform, order=0, context=(), probability=1 / 5, backoff=None, answered=False)
    # Different words before a: <eos> and b, so 2; before b, c, <eos> one each; total 5.
    # Three words have 1, one has 2: D = 3 / (3 + 2*1) = 0.6, taken from 4 words.
    # alpha = (1 - 0.6) / 5, weight = 4 * 0.6 / 5 = 0.48, p = 0.08 + 0.48 / 5.
    check(first, order=1, context=(), count=1, total=5, followers=4, discount=0.6)
    check(first, alpha=0.08, backoff=0.48, probability=0.176, answered=False)
    # After a came b and c, once each. No pair was seen twice, so D is the fixed 0.5.
    # alpha = (1 - 0.5) / 2, weight = 2 * 0.5 / 2, p = 0.25 + 0.5 * 0.176.
    check(second, order=2, context=(A,), count=1, total=2, followers=2, discount=0.5)
    check(second, alpha=0.25, backoff=0.5, probability=0.338, answered=True)


def test_a_word_not_seen_after_the_context() -> None:
    second, first, uniform = explain(fit(smoothing="kneser-ney"), [A], A, interpolated=True)
    # p(a) = (2 - 0.6) / 5 + 0.48 / 5 = 0.376; "a a" was not seen: p = 0.5 * 0.376.
    check(first, count=2, alpha=0.28, probability=0.376, answered=True)
    check(second, count=0, total=2, followers=2, discount=0.0, alpha=0.0, backoff=0.5)
    check(second, probability=0.188, answered=False)
    assert not uniform.answered


def test_a_word_never_seen_is_answered_by_the_uniform_distribution() -> None:
    rows = explain(fit(smoothing="kneser-ney"), [A], UNK, interpolated=True)
    # p(<unk>) = 0.48 / 5, after a half of it.
    assert [row.answered for row in rows] == [False, False, True]
    check(rows[1], count=0, alpha=0.0, probability=0.096)
    check(rows[0], probability=0.048)


def test_a_context_never_seen_passes_everything_down() -> None:
    second, first, _ = explain(fit(smoothing="kneser-ney"), [UNK], B, interpolated=True)
    check(second, context=(UNK,), count=0, total=0, followers=0, alpha=0.0, backoff=1.0)
    check(second, probability=0.176, answered=False)
    check(first, answered=True)


def test_add_delta_by_hand() -> None:
    rows = explain(fit(smoothing="add-delta", options={"delta": 1.0}), [A], B, interpolated=True)
    # p = (1 + 1) / (2 + 5): alpha = 1/7, and 5/7 go to the uniform 1/5. Shorter contexts only
    # pass it on.
    check(rows[0], count=1, total=2, alpha=1 / 7, backoff=5 / 7, probability=2 / 7, discount=None)
    check(rows[1], count=1, total=5, alpha=0.0, backoff=1.0, probability=1 / 5)
    check(rows[2], order=0, probability=1 / 5)


@pytest.mark.parametrize(
    ("smoothing", "alpha", "backoff"),
    [
        ("maximum-likelihood", 1 / 5, 0.0),
        ("add-delta", 1 / 10, 5 / 10),  # (1 + 1) / (5 + 5)
        ("witten-bell", 1 / 9, 4 / 9),  # 4 different words: (1 + 4 p) / (5 + 4)
        ("kneser-ney", 0.08, 0.48),  # of order 1 alone: counts 2, 1, 1, 1 as they are
    ],
)
def test_weight_of_the_uniform_distribution(smoothing: str, alpha: float, backoff: float) -> None:
    first, uniform = explain(fit(order=1, smoothing=smoothing), [A], B, interpolated=True)
    check(first, context=(), alpha=alpha, backoff=backoff, probability=alpha + backoff / 5)
    check(uniform, order=0)


def test_words_that_are_all_alike() -> None:
    tables = fit(np.array([1, 0]), size=2, order=1, smoothing="witten-bell")
    first, _ = explain(tables, [], 1, interpolated=True)
    check(first, probability=0.5, backoff=1.0, alpha=0.0)


def test_absolute_discounting_by_hand() -> None:
    tables = fit(smoothing="absolute")
    # D = 0.6 as above. p(b) = (1 - 0.6) / 5; the 0.48 taken go to the one word not seen, whose
    # uniform share is 1/5: weight 0.48 / 0.2 = 2.4.
    seen = explain(tables, [A], B, interpolated=False)
    check(seen[1], count=1, discount=0.6, alpha=0.08, backoff=2.4, probability=0.08)
    # After a: b and c keep 0.25 each; 0.5 goes to words whose p sum to 1 - 2 * 0.08 = 0.84.
    check(seen[0], alpha=0.25, backoff=0.5 / 0.84, probability=0.25, answered=True)
    # p(a | a) = 0.5 / 0.84 * p(a), p(a) = (2 - 0.6) / 5 = 0.28.
    unseen = explain(tables, [A], A, interpolated=False)
    check(unseen[0], count=0, alpha=0.0, probability=0.5 / 0.84 * 0.28, answered=False)
    never = explain(tables, [A], UNK, interpolated=False)
    check(never[1], count=0, alpha=0.0, probability=0.48, answered=False)
    check(never[2], answered=True)


def test_no_word_is_left_for_the_uniform_distribution() -> None:
    # Both words of the vocabulary were seen.
    tables = fit(np.array([1, 1, 0]), size=2, order=1, smoothing="absolute")
    first, _ = explain(tables, [], 1, interpolated=False)
    check(first, backoff=0.0, alpha=first.probability)


def test_large_counts_share_the_last_discount() -> None:
    ids = np.array([A] * 9 + [EOS])
    first, _ = explain(fit(ids, order=1), [], A, interpolated=True)
    check(first, count=9, discount=1.5)  # too little text: fixed discounts 0.5, 1, 1.5


def test_contexts_start_with_the_line() -> None:
    ids = np.array([A, B, EOS, A, B, EOS])
    tables = fit(ids, order=3, context="line", smoothing="witten-bell")
    assert [row.context for row in explain(tables, [B, EOS], A, interpolated=True)] == [
        (EOS,),
        (),
        (),
    ]
    tables = fit(ids, order=3, context="stream", smoothing="witten-bell")
    rows = explain(tables, [B, EOS], A, interpolated=True)
    assert [row.context for row in rows] == [(B, EOS), (EOS,), (), ()]


def test_what_was_not_read_is_not_a_context() -> None:
    tables = fit(order=3)
    for context in ([NOTHING, A], [NOTHING, NOTHING, A], [A]):
        rows = explain(tables, context, B, interpolated=True)
        assert [row.context for row in rows] == [(A,), (), ()]
    assert [row.order for row in explain(tables, [], B, interpolated=True)] == [1, 0]


@pytest.mark.parametrize("interpolated", [True, False])
def test_a_model_without_counts(tmp_path: Path, interpolated: bool) -> None:
    tables = fit(smoothing="kneser-ney")
    write_arpa(tmp_path / "model.arpa", tables, TOKENS)
    second, first = explain(
        read_arpa(tmp_path / "model.arpa")[0], [A], B, interpolated=interpolated
    )
    check(second, order=2, count=None, total=None, followers=2, discount=None, backoff=0.5)
    check(second, alpha=0.25 if interpolated else 0.338, probability=0.338, answered=True)
    check(first, order=1, count=None, total=None, followers=5, discount=None, backoff=None)
    check(first, alpha=0.176, probability=0.176)


def test_rows_as_plain_data() -> None:
    rows = explain(fit(), [A], B, interpolated=True)
    data = json.loads(json.dumps([row.to_data() for row in rows]))
    assert data[0]["context"] == [A]
    assert data[0]["probability"] == rows[0].probability
    assert OrderEvidence(**{**data[0], "context": tuple(data[0]["context"])}) == rows[0]


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("cutoffs", [(), (1, 1, 2)])
@pytest.mark.parametrize("context", ["line", "stream"])
def test_rows_add_up(smoothing: str, cutoffs: tuple[int, ...], context: str) -> None:
    text = grammar_text("train", 60)
    words = Words.train(text, TextConfig())
    ids = words.encode(text)
    tables = fit(ids, len(words), order=4, smoothing=smoothing, cutoffs=cutoffs, context=context)
    interpolated = SMOOTHERS[smoothing].interpolated
    generator = np.random.default_rng(1)
    windows = [ids[place : place + 5] for place in generator.integers(0, len(ids) - 5, 40)]
    windows += list(generator.integers(0, len(words), (40, 5)))
    for window in windows:
        rows = explain(tables, window[:4].tolist(), int(window[4]), interpolated=interpolated)
        expected = np.exp(tables.score(window[None])[0, -1])
        assert rows[0].probability == pytest.approx(expected, rel=1e-12, abs=0)
        assert sum(row.answered for row in rows) == 1
        for row, below in pairwise(rows):
            handed_down = row.backoff * below.probability
            if interpolated or row.alpha == 0:
                assert row.probability == pytest.approx(row.alpha + handed_down, rel=1e-12)
            else:
                assert row.probability == row.alpha
            _check_discount(row, exact=interpolated and not cutoffs)


def _check_discount(row: OrderEvidence, exact: bool) -> None:
    """alpha = (count - discount) / total, where nothing was cut off afterwards."""
    if exact and row.discount is not None and row.count:
        assert row.alpha == pytest.approx((row.count - row.discount) / row.total, abs=1e-12)
