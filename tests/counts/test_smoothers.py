"""Smoothers against a slow reference written straight from the formulas, nltk, and arithmetic."""

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from elman.counts.estimate import NgramConfig, estimate
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import NOTHING, Tables
from elman.errors import InputError
from elman.text.python_docs import python_docs_text

SIZE, EOS = 60, 0
RANDOM = np.random.default_rng(3)
# Word frequencies as in a language (Zipf), so that all counts from one to many occur; the last
# words of the vocabulary are never seen.
TEXT = RANDOM.choice(57, 700, p=(zipf := 1 / np.arange(1, 58) ** 1.3) / zipf.sum())


def fit(ids: np.ndarray = TEXT, size: int = SIZE, **settings: object) -> Tables:
    return estimate(ids, NgramConfig(**settings), vocabulary_size=size, eos_id=EOS)


def probability(tables: Tables, context: list[int], word: int) -> float:
    return float(np.exp(tables.score(np.array([[NOTHING, *context, word]]))[0, -1]))


class SlowKneserNey:
    """Interpolated Kneser-Ney with one or three discounts per order, by dictionaries."""

    def __init__(self, ids: list[int], order: int, size: int, how_many: int) -> None:
        self.size, self.order = size, order
        stream = [EOS, *ids]
        raw: dict[int, Counter] = {k: Counter() for k in range(1, order + 1)}
        for end in range(1, len(stream)):
            for k in range(1, order + 1):
                if end - k + 1 < 0 or EOS in stream[end - k + 2 : end]:
                    continue
                raw[k][tuple(stream[end - k + 1 : end + 1])] += 1
        self.counts = {}
        for k in range(1, order + 1):
            lefts = defaultdict(set)
            for ngram in raw.get(k + 1, ()):
                lefts[ngram[1:]].add(ngram[0])
            self.counts[k] = {
                ngram: count if k == order or (k > 1 and ngram[0] == EOS) else len(lefts[ngram])
                for ngram, count in raw[k].items()
            }
        self.discounts = {k: self.estimate(self.counts[k], how_many) for k in self.counts}

    @staticmethod
    def estimate(counts: dict, how_many: int) -> list[float]:
        n = Counter(counts.values())
        y = n[1] / (n[1] + 2 * n[2])
        if how_many == 1:
            return [y]
        return [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]

    def discount(self, k: int, count: int) -> float:
        return self.discounts[k][min(count, len(self.discounts[k])) - 1] if count else 0.0

    def probability(self, context: tuple[int, ...], word: int) -> float:
        k = len(context) + 1
        shorter = self.probability(context[1:], word) if context else 1 / self.size
        following = {n: c for n, c in self.counts[k].items() if n[:-1] == context}
        total = sum(following.values())
        if total == 0:
            return shorter
        count = following.get((*context, word), 0)
        gamma = sum(self.discount(k, c) for c in following.values()) / total
        return (count - self.discount(k, count)) / total + gamma * shorter


@pytest.mark.parametrize(("name", "how_many"), [("kneser-ney", 1), ("modified-kneser-ney", 3)])
def test_kneser_ney_equals_the_formulas(name: str, how_many: int) -> None:
    slow = SlowKneserNey(TEXT.tolist(), 3, SIZE, how_many)
    tables = fit(order=3, smoothing=name)
    assert not tables.notes
    for order in (1, 2, 3):
        assert tables.discounts[order - 1] == pytest.approx(slow.discounts[order])
    contexts = [[EOS], [EOS, 1], [1, 2], [2, 1], [10, 9], [59, 59], [5]]
    for context in contexts:
        for word in range(0, SIZE, 3):
            expected = slow.probability(tuple(context), word)
            assert probability(tables, context, word) == pytest.approx(expected, rel=1e-12)


def test_add_delta_equals_the_formula() -> None:
    pairs = Counter(zip([EOS, *TEXT.tolist()], TEXT.tolist(), strict=False))
    tables = fit(order=2, smoothing="add-delta", options={"delta": 0.25})
    for before in range(SIZE):
        total = sum(pairs[before, word] for word in range(SIZE))
        for word in range(SIZE):
            expected = (pairs[before, word] + 0.25) / (total + 0.25 * SIZE)
            assert probability(tables, [before], word) == pytest.approx(expected, rel=1e-12)


def test_witten_bell_by_hand() -> None:
    # b a b c <eos>, vocabulary of 4. Unigrams: b 2, a 1, c 1, <eos> 1; 5 tokens of 4 types:
    #   p(a) = (1 + 4 * 1/4) / (5 + 4) = 2/9
    # After b came a and c, once each: p(a | b) = (1 + 2 * 2/9) / (2 + 2) = 13/36
    tables = fit(np.array([2, 1, 2, 3, 0]), size=4, order=2, smoothing="witten-bell")
    assert probability(tables, [2], 1) == pytest.approx(13 / 36)


def test_stupid_backoff_has_the_shape_of_its_scores() -> None:
    # b a b c <eos>: S(a|b) = S(c|b) = 1/2; unseen after b: S(b|b) = .4 * 2/5, S(<eos>|b) = .4/5
    # Their sum is 1 + .4 * 3/5 = 1.24: what each is divided by.
    tables = fit(np.array([2, 1, 2, 3, 0]), size=4, order=2, smoothing="stupid-backoff")
    assert probability(tables, [2], 1) == pytest.approx(0.5 / 1.24)
    assert probability(tables, [2], 2) == pytest.approx(0.4 * 2 / 5 / 1.24)
    assert probability(tables, [2], 0) == pytest.approx(0.4 / 5 / 1.24)


def test_absolute_discounting_backs_off() -> None:
    tables = fit(order=2, smoothing="absolute")
    pairs = Counter(zip([EOS, *TEXT.tolist()], TEXT.tolist(), strict=False))
    discount = tables.discounts[1][0]
    total = sum(count for (before, _), count in pairs.items() if before == 2)
    seen = {word for before, word in pairs if before == 2}
    assert probability(tables, [2], 1) == pytest.approx((pairs[2, 1] - discount) / total)
    # The unseen share what the discount left, in proportion to their unigrams.
    unseen = [word for word in range(SIZE) if word not in seen]
    assert len(unseen) > 1
    left = discount * len(seen) / total
    unigrams = np.exp(tables.tables[0].log_probs)
    for word in unseen:
        expected = left * unigrams[word] / unigrams[unseen].sum()
        assert probability(tables, [2], word) == pytest.approx(expected)


def test_katz_discounts_follow_good_turing() -> None:
    # Good-Turing needs many n-grams of each small count: real text.
    words = python_docs_text("train").split()
    text = np.unique(words, return_inverse=True)[1] + 1
    tables = fit(text, size=text.max() + 1, order=2, smoothing="katz", context="stream")
    n = Counter(Counter(zip([EOS, *text.tolist()], text.tolist(), strict=False)).values())
    assert not any("order 2" in note for note in tables.notes)
    tail = 6 * n[6] / n[1]
    ratio = (2 * n[2] / n[1] - tail) / (1 - tail)
    assert tables.discounts[1][0] == pytest.approx(1 - ratio)


def test_katz_of_counts_that_leave_nothing_to_share() -> None:
    # One word each seen 2, 3, 4, 5 and 6 times and six seen once: A = 6 n6 / n1 = 1.
    text = [*range(1, 7), *(word for word in range(7, 12) for _ in range(word - 5))]
    tables = fit(np.array(text), size=12, order=1, smoothing="katz")
    assert tables.notes[0].startswith("order 1: discounts cannot be estimated")
    assert np.exp(tables.tables[0].log_probs).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", SMOOTHERS)
@pytest.mark.parametrize("text", [[1], [1, 2, 0], [0, 0, 0], [1] * 50, [1, 2] * 30 + [0]])
def test_tiny_texts_never_fail(name: str, text: list[int]) -> None:
    for context in ("line", "stream"):
        tables = fit(np.array(text), size=4, order=4, smoothing=name, context=context)
        contexts = np.array([[NOTHING, NOTHING, 0], [1, 2, 1], [3, 3, 3], [1, 1, 1], [0, 1, 2]])
        assert np.exp(tables.predict(contexts)).sum(axis=1) == pytest.approx(1, abs=1e-9)


def test_discounts_that_cannot_be_estimated_are_said() -> None:
    tables = fit(np.array([1, 2, 3, 0]), size=4, order=2)
    assert len(tables.notes) == 1
    assert tables.notes[0].startswith("order 1, 2: ")
    assert tables.discounts == [[0.5, 1.0, 1.5]] * 2


def test_maximum_likelihood_is_relative_frequency() -> None:
    # 1000 contexts, 400 and 100 of them followed by two words: .4 and .1, as every lecture has it
    text = [
        word for follower, times in ((2, 400), (3, 100), (4, 500)) for word in [1, follower] * times
    ]
    tables = fit(np.array(text), size=5, order=2, smoothing="maximum-likelihood")
    assert probability(tables, [1], 2) == pytest.approx(0.4)
    assert probability(tables, [1], 3) == pytest.approx(0.1)
    assert probability(tables, [1], 1) == 0.0


def test_contexts_that_were_never_seen() -> None:
    # a b <eos> c <eos>, with 0 for <eos>: in lines of their own, b is followed by <eos> alone.
    tables = fit(np.array([1, 2, 0, 3, 0]), size=4, order=3, smoothing="maximum-likelihood")
    rows = np.array([[-1, 0, 1, 2, 0, 3, 1, 1], [-1, 0, 3, 2, 2, 0, 1, 2]])
    seen_in_lines = tables.unseen_contexts(rows, lines=True)
    # after: start, a, ab, <eos>, c, ca (never seen); start, c, cb, bb, <eos>, a
    assert seen_in_lines[:, 1:].tolist() == [
        [False, False, False, False, False, True],
        [False, False, True, True, False, False],
    ]
    in_a_stream = tables.unseen_contexts(rows, lines=False)
    # in a stream, a context reaches back over the end of a line: b <eos> was not counted
    assert in_a_stream[0, 1:].tolist() == [False, False, False, True, False, True]


def test_cutoffs_drop_rare_ngrams_and_keep_the_sum() -> None:
    full, cut = fit(order=3), fit(order=3, cutoffs=(1, 2, 3))
    assert [len(table) for table in cut.tables] < [len(table) for table in full.tables]
    raw = fit(order=3, smoothing="maximum-likelihood")
    kept = [
        int(np.count_nonzero(table.counts >= least))
        for table, least in zip(raw.tables, (0, 2, 3), strict=True)
    ]
    assert [len(table) for table in cut.tables] == kept
    contexts = RANDOM.integers(0, SIZE, (200, 2))
    assert np.exp(cut.predict(contexts)).sum(axis=1) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"order": 0},
        {"order": 99},
        {"smoothing": "modified-kneser-nay"},
        {"smoothing": "add-delta", "options": {"delta": 0.0}},
        {"smoothing": "add-delta", "options": {"delta": math.nan}},
        {"smoothing": "add-delta", "options": {"delta": math.inf}},
        {"cutoffs": (-1, 2)},
        {"smoothing": "stupid-backoff", "options": {"backoff": 2.0}},
        {"smoothing": "stupid-backoff", "options": {"delta": 1.0}},
        {"options": {"delta": 1.0}},
        {"context": "page"},
        {"cutoffs": (1, 3, 2)},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError):
        NgramConfig(**settings)


def nltk_model(name: str, **settings: float):
    """A bigram model of nltk and ours, of the same one long line."""
    lm = pytest.importorskip("nltk.lm", reason="needs nltk: pip install 'elman[oracles]'")
    words = [str(number) for number in TEXT if number != EOS]
    theirs = getattr(lm, name)(**settings) if settings else getattr(lm, name)(2)
    pairs = list(pairwise(words))
    theirs.fit([[*pairs, *((word,) for word in words)]], vocabulary_text=words)
    return theirs, [int(word) for word in words]


def both(theirs, tables: Tables, before: int, words: list[int]) -> tuple[np.ndarray, np.ndarray]:
    ours = [probability(tables, [before], word) for word in words]
    return np.array([theirs.score(str(word), [str(before)]) for word in words]), np.array(ours)


def test_maximum_likelihood_is_nltks() -> None:
    theirs, ids = nltk_model("MLE")
    tables = fit(np.array(ids), order=2, smoothing="maximum-likelihood", context="stream")
    for before in sorted(set(ids[:-1])):
        scores, ours = both(theirs, tables, before, sorted(set(ids)))
        assert ours == pytest.approx(scores, abs=1e-12)


def test_laplace_is_nltks() -> None:
    theirs, ids = nltk_model("Laplace")
    # Their vocabulary has the words and <UNK>; so does ours with <eos> for <UNK>.
    words = sorted(set(ids))
    renumbered = np.searchsorted(words, ids) + 1
    tables = fit(renumbered, size=len(words) + 1, order=2, smoothing="add-delta", context="stream")
    for place, before in enumerate(words):
        scores = [theirs.score(str(word), [str(before)]) for word in words]
        ours = [probability(tables, [place + 1], other + 1) for other in range(len(words))]
        assert ours == pytest.approx(scores, rel=1e-12)


def test_stupid_backoff_is_nltks_but_for_the_sum() -> None:
    theirs, ids = nltk_model("StupidBackoff", alpha=0.4, order=2)
    tables = fit(np.array(ids), order=2, smoothing="stupid-backoff", context="stream")
    for before in sorted(set(ids[:-1])):
        scores, ours = both(theirs, tables, before, sorted(set(ids)))
        assert scores / scores.sum() == pytest.approx(ours / ours.sum(), rel=1e-9)


def test_witten_bell_is_nltks_above_the_unigrams() -> None:
    # Their unigrams are relative frequencies; ours are smoothed towards the uniform distribution.
    theirs, ids = nltk_model("WittenBellInterpolated")
    tables = fit(np.array(ids), order=2, smoothing="witten-bell", context="stream")
    words = sorted(set(ids))
    our_unigrams = np.exp(tables.tables[0].log_probs)[words]
    their_unigrams = np.array([theirs.score(str(word)) for word in words])
    for before in sorted(set(ids[:-1])):
        scores, ours = both(theirs, tables, before, words)
        handed_down = np.exp(tables.tables[0].log_backoffs[before])
        own = ours - handed_down * our_unigrams
        assert own == pytest.approx(scores - handed_down * their_unigrams, abs=1e-12)


def test_probabilities_do_not_underflow() -> None:
    tables = fit(np.arange(1, 11).repeat(3), size=2000, order=5)
    assert np.isfinite(tables.predict(np.full((1, 4), 1999))).all()
    assert math.isclose(np.exp(tables.predict(np.full((1, 4), 1999))).sum(), 1, abs_tol=1e-9)
