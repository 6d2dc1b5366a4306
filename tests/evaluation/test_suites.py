"""Suites: only the needed sentences are read, and the judgement stays the same."""

import pytest
from sentence_models import fitted

from elman.evaluation.suites import judge_suite
from elman.text.syntax_suites import Condition, Item, Suite, read_formula

SENTENCES = {
    "right": ("the cats", "sleep", ".", "the dogs sleep ."),
    "wrong": ("the cats", "sleeps", ".", "the dogs sleep ."),
    "unused": ("the dogs", "sleep", "zebra", "the cats sleep ."),
}


def suite(formula: str) -> Suite:
    conditions = tuple(Condition(n, (1, 2, 3, 4), regions) for n, regions in SENTENCES.items())
    return Suite("agreement", "sum", (read_formula(formula),), (Item("1", conditions),))


def tokens_read(formula: str, **options: str) -> tuple[int, bool, bool]:
    read = 0

    def progress(amount: int, total: int) -> None:
        nonlocal read
        read = total

    (judged,) = judge_suite(*fitted("words"), suite(formula), progress=progress, **options)
    return read, judged.judgement.right, judged.judgement.excluded


@pytest.mark.parametrize("formula", ["(2;%wrong%) > (2;%right%)", "(2;%wrong%) < (2;%right%)"])
def test_what_no_prediction_names_is_not_read(formula: str) -> None:
    # `the cats sleep` and `the cats sleeps` share two tokens; each has a line end.
    read, right, _ = tokens_read(formula)
    assert read <= 8
    whole = formula + " & (*;%unused%) > 0 & (*;%right%) > 0 & (*;%wrong%) > 0"
    longer, same, _ = tokens_read(whole)
    assert longer > 2 * read
    assert same == right


def test_unknown_words_of_unread_sentences_still_count() -> None:
    formula = "(2;%wrong%) > (2;%right%)"
    assert not tokens_read(formula, exclude_unknown="never")[2]
    assert tokens_read(formula, exclude_unknown="any")[2]  # zebra
    assert tokens_read(formula, exclude_unknown="differing")[2]
