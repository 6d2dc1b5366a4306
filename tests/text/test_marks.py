"""Tokens after a mark, by hand and against a loop over the text."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elman.text.tokenizer import after_mark

EOS, MARK, UNTIL = 0, 1, 2


def test_after_a_mark_up_to_and_with_the_line_end() -> None:
    #       3  =  4  5 eos 6 eos =  7
    ids = [3, 1, 4, 5, 0, 6, 0, 1, 7]
    expected = [False, False, True, True, True, False, False, False, True]
    assert after_mark(np.array(ids), MARK, EOS).tolist() == expected


def test_up_to_and_with_another_mark() -> None:
    #       <  a  >  /  a  >  <  b eos
    ids = [4, 3, 2, 1, 3, 2, 4, 5, 0]
    expected = [False, False, False, False, True, True, False, False, False]
    assert after_mark(np.array(ids), MARK, EOS, UNTIL).tolist() == expected


@given(st.lists(st.integers(0, 4), min_size=1, max_size=50), st.booleans())
def test_against_a_walk(ids: list[int], ends: bool) -> None:
    inside, expected = False, []
    for number in ids:
        expected.append(inside)
        if number == MARK:
            inside = True
        elif number == EOS or (ends and number == UNTIL):
            inside = False
    found = after_mark(np.array(ids), MARK, EOS, UNTIL if ends else None)
    assert found.tolist() == expected
