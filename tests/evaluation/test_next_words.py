"""The next word as a whole: a beam that finds everything gives the exact entropy."""

import itertools
import math

import numpy as np
import pytest
from sentence_models import TINY, count, fitted

from elman.evaluation.surprisal import word_surprisals
from elman.text import TOKENIZERS


def test_exact_if_every_token_is_a_word() -> None:
    rows = word_surprisals(*fitted("words"), "the cats sleep\n", next_word=True)
    assert [row.next_word_entropy for row in rows] == [row.entropy for row in rows]
    assert [row.word_rank for row in rows] == [row.rank for row in rows]
    assert {row.remaining_mass for row in rows} == {0.0}
    first, second = rows[0], rows[1]
    assert first.entropy_reduction == pytest.approx(first.entropy - second.entropy)
    assert rows[-1].entropy_reduction is None  # the line has ended


def test_a_wide_beam_finds_every_short_word() -> None:
    pair = count("characters", TINY)
    (row,) = word_surprisals(*pair, "ab a", next_word=True, beam=3000)[1:]
    words = ["".join(w) for n in range(1, 6) for w in itertools.product("ab", repeat=n)]
    shares = {
        word: 2 ** -word_surprisals(*pair, f"ab {word}")[1].surprisal for word in words
    }  # fmt: skip
    eos = 2 ** -word_surprisals(*pair, "ab\n")[1].surprisal
    assert row.remaining_mass < 0.01
    better = sum(share > shares["a"] for share in [*shares.values(), eos])
    assert row.word_rank == 1 + better
    known = np.array([*shares.values(), eos])
    assert row.next_word_entropy >= -(known * np.log2(known)).sum() - 0.1
    assert row.next_word_entropy == pytest.approx(-(known * np.log2(known)).sum(), rel=0.15)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_narrow_beam_says_what_it_has_not_found(name: str) -> None:
    pair = fitted(name)
    text = "the cats sleep ."
    wide, narrow = (
        word_surprisals(*pair, text, next_word=True, base=math.e, beam=beam) for beam in (500, 2)
    )
    for one, other in zip(wide, narrow, strict=True):
        assert 0 <= one.remaining_mass <= other.remaining_mass + 1e-9
        assert other.next_word_entropy <= one.next_word_entropy + 1e-9  # a lower bound
        assert other.word_rank in (None, one.word_rank)
        # The word itself is among the words found, with its own probability.
        assert one.word_rank is None or one.word_rank >= 1
    if name != "words":
        assert narrow[1].remaining_mass > wide[1].remaining_mass
