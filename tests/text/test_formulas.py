"""SyntaxGym formulas: parsing, and refusal of wrong ones."""

import pytest

from elman.errors import InputError
from elman.text.syntax_suites import Value, read_formula

BITS = {("a", 1): 1.0, ("a", 2): 2.0, ("b", 1): 4.0, ("b", 2): 1.0, ("a", None): 3.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1;%a%) < (1;%b%)", True),
        ("(1;%a%) > (1;%b%)", False),
        ("(*;%a%) = 3", True),
        ("(*;%a%) = 3.0005", True),  # as near as SyntaxGym takes it
        ("(*;%a%) = 3.1", False),
        ("(2;%a%) - (1;%a%) - (1;%a%) = 0", True),  # from the left: (2 − 1) − 1
        ("(2;%a%) - [(1;%a%) - (1;%a%)] = 2", True),
        ("((1;%b%) - (2;%b%)) > ((2;%a%) + (1;%a%) - 0.5)", True),  # 3 > 2.5
        ("-(1;%a%) < 0", True),
        ("(1;%a%) >= 1 & (1;%a%) <= 1", True),
        ("1 > 2 | 2 > 1 & 1 > 2", False),  # & binds more than |
        ("(1 > 2 | 2 > 1) & 2 > 1", True),
        ("[(1;%a%)>(1;%b%)]|[(1;%a%)<(1;%b%)]", True),
    ],
)
def test_a_formula_holds_or_not(text: str, expected: bool) -> None:
    assert read_formula(text).holds(BITS.__getitem__).value is expected


def test_a_tie_is_said() -> None:
    assert read_formula("(1;%a%) > (2;%b%)").holds(BITS.__getitem__) == Value(False, tie=True)
    assert read_formula("(1;%a%) = (2;%b%)").holds(BITS.__getitem__) == Value(True, tie=False)
    both = read_formula("(1;%a%) > (2;%b%) & 2 > 1").holds(BITS.__getitem__)
    assert both == Value(False, tie=True)


def test_places() -> None:
    formula = read_formula("(1;%no-sub_x%) > (*;%b%) + (12;%b%)")
    assert formula.places == {("no-sub_x", 1), ("b", None), ("b", 12)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is incomplete"),
        ("(1;%a%)", "compares nothing"),
        ("(1;%a%) >", "is incomplete"),
        ("(1;%a%) > (1;%b%", "cannot parse"),
        ("((1;%a%) > (1;%b%)", "a ) is missing"),
        ("[(1;%a%) > (1;%b%))", "a ] is missing"),
        ("(1;%a%) > (1;%b%))", "unexpected ')'"),
        ("(1;%a%) > (1;%b%) > 3", "unexpected '>'"),
        ("((1;%a%) > 1) > 3", "takes numbers"),
        ("((1;%a%) > 1) + 3 > 1", "takes numbers"),
        ("(1;%a%) & (1;%b%) > 2", "combines comparisons"),
        ("-(1 > 2)", "negates numbers"),
        ("__import__('os').system('true') > 1", "cannot parse"),
        ("(x;%a%) > 1", "cannot parse"),
        ("> 1", "unexpected '>'"),
        ("(" * 5000 + "1", "nested too deep"),
        ("-" * 5000 + "1 > 0", "nested too deep"),
    ],
)
def test_what_is_no_formula_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        read_formula(text)
    assert reason in str(refused.value)
