"""Grammars in which one word of look-ahead decides the rule, and others that are refused."""

import pytest

from elman.text.probabilistic_grammar import Rules, check_one_word_decides


def test_recursion_to_the_right_is_decided() -> None:
    check_one_word_decides({"S": [(0.5, ("a", "S", "b")), (0.5, ())]}, "S")


@pytest.mark.parametrize(
    ("rules", "doubtful"),
    [
        # Both alternatives of S begin with a.
        ({"S": [(0.5, ("a", "b")), (0.5, ("a", "c"))]}, r"\['a'\].*'S'"),
        # The same, one symbol further down.
        ({"S": [(0.5, ("T",)), (0.5, ("a",))], "T": [(1.0, ("a", "b"))]}, r"\['a'\].*'S'"),
        # After T comes a, so that a may begin T or announce that T is empty.
        ({"S": [(1.0, ("T", "a"))], "T": [(0.5, ("a",)), (0.5, ())]}, r"\['a'\].*'T'"),
        # What follows S also follows the T at its end: a again.
        (
            {"R": [(1.0, ("S", "a"))], "S": [(1.0, ("b", "T"))], "T": [(0.5, ("a",)), (0.5, ())]},
            r"\['a'\].*'T'",
        ),
        # Two ways of saying nothing.
        ({"S": [(0.5, ()), (0.5, ("T",))], "T": [(1.0, ())]}, "'S'"),
        # Left recursion: b begins both S a and b.
        ({"S": [(0.5, ("S", "a")), (0.5, ("b",))]}, r"\['b'\].*'S'"),
    ],
)
def test_a_doubtful_word_is_named_with_its_symbol(rules: Rules, doubtful: str) -> None:
    with pytest.raises(ValueError, match=f"ambiguous: .*{doubtful}"):
        check_one_word_decides(rules, next(iter(rules)))
