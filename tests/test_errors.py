"""The nearest name, and the exit codes."""

import pytest

from elman.errors import ElmanError, InputError, choose, nearest


def test_a_close_name_is_suggested_else_all_are_listed() -> None:
    assert nearest("ngrm", ["rnn", "ngram"]) == "did you mean 'ngram'?"
    assert nearest("zzz", ["rnn", "ngram"]) == "known: ngram, rnn"
    assert nearest("", ["a"]) == "known: a"


def test_choosing_gives_the_entry_or_the_nearest_name() -> None:
    assert choose({"a": 1}, "a", "letter") == 1
    with pytest.raises(InputError, match="unknown letter 'b'; known: a"):
        choose({"a": 1}, "b", "letter")


def test_wrong_input_is_exit_code_2_and_other_failures_are_1() -> None:
    assert (InputError.exit_code, ElmanError.exit_code) == (2, 1)
