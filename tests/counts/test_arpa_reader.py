"""ARPA files of other toolkits: read correctly, or refused with the line number."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from elman.counts.tables import Tables
from elman.errors import InputError
from elman.formats.arpa_reader import read_arpa
from elman.text.words import Words

Score = Callable[[Tables, Words, str], np.ndarray]


SMALL = """\\data\\
ngram 1=4
ngram 2=2
ngram 3=1

\\1-grams:
-99\t<s>\t-0.4
-0.5\t</s>
-0.6\ta\t-0.3
-0.7\tb\t-0.2

\\2-grams:
-0.1\ta b\t-0.25
-0.15\tb </s>

\\3-grams:
-0.05\ta b </s>

\\end\\
"""


def read_text(folder: Path, text: str) -> tuple[Tables, Words]:
    (folder / "model.arpa").write_text(text)
    tables, tokens = read_arpa(folder / "model.arpa")
    return tables, Words(tokens)


def test_a_beginning_that_is_not_listed_changes_no_score(
    tmp_path: Path, score_words: Score
) -> None:
    # "b a </s>" is listed, "b a" is not, nor is "a </s>". By backing off:
    # p(a | b)    = backoff(b) p(a)             = -0.2 - 0.6
    # p(b | b a)  = p(b | a), as "b a" has the weight one; p(b | a) = -0.1
    text = SMALL.replace("3=1", "3=2").replace("a b </s>\n", "a b </s>\n-0.07\tb a </s>\n")
    tables, words = read_text(tmp_path, text)
    assert len(tables.tables[1]) == 3
    found = score_words(tables, words, "b a")  # p(b | <s>) = -0.4 - 0.7
    np.testing.assert_allclose(found, [-1.1, -0.8, -0.07], atol=1e-12)
    found = score_words(tables, words, "b a b")
    np.testing.assert_allclose(found, [-1.1, -0.8, -0.1, -0.05], atol=1e-12)


def test_beginnings_can_be_missing_at_several_orders(tmp_path: Path, score_words: Score) -> None:
    # Neither "b b" nor "b b a" is listed. p(a | b b) = backoff(b) p(a) = -0.2 - 0.6.
    text = SMALL.replace("3=1\n", "3=1\nngram 4=1\n")
    text = text.replace("\\end", "\\4-grams:\n-0.03\tb b a </s>\n\n\\end")
    tables, words = read_text(tmp_path, text)
    found = score_words(tables, words, "b b a")
    # p(b | b) = backoff(b) p(b) = -0.2 - 0.7
    np.testing.assert_allclose(found, [-1.1, -0.9, -0.8, -0.03], atol=1e-12)


def test_words_of_a_file_without_unknown_have_probability_zero(
    tmp_path: Path, score_words: Score
) -> None:
    tables, words = read_text(tmp_path, SMALL)
    assert score_words(tables, words, "zebra")[0] == -np.inf
    assert any("<unk>" in note for note in tables.notes)


def test_an_upper_case_unknown_is_the_unknown(tmp_path: Path, score_words: Score) -> None:
    text = SMALL.replace("1=4", "1=5").replace("-0.7\tb", "-1.5\t<UNK>\n-0.7\tb")
    tables, words = read_text(tmp_path, text)
    assert words.tokens == ["<eos>", "<unk>", "a", "b"]
    np.testing.assert_allclose(score_words(tables, words, "zebra"), [-1.9, -0.5], atol=1e-12)
    assert not tables.notes


def test_ngrams_across_line_ends_are_left_out(tmp_path: Path) -> None:
    across = "</s> <s>\n-0.3\tb <s>\n-0.2\t</s> b\n-0.1\ta b\t"
    text = SMALL.replace("2=2", "2=5").replace("a b\t", across)
    tables, words = read_text(tmp_path, text)
    expected, _ = read_text(tmp_path, SMALL)
    row = words.encode("a b\nb a\n\nb\n")[None]
    np.testing.assert_array_equal(tables.score(row), expected.score(row))
    assert any("3 n-grams that cross line ends" in note for note in tables.notes)


def test_a_weight_after_the_end_of_a_line_does_not_reach_the_next(tmp_path: Path) -> None:
    expected, words = read_text(tmp_path, SMALL)
    text = SMALL.replace("-0.15\tb </s>", "-0.15\tb </s>\t-5").replace(
        "-0.5\t</s>", "-0.5\t</s>\t-5"
    )
    tables, _ = read_text(tmp_path, text)
    row = words.encode("a b\nb b\nb\n")[None]
    np.testing.assert_array_equal(tables.score(row), expected.score(row))


def test_an_empty_highest_order_is_none(tmp_path: Path, score_words: Score) -> None:
    text = SMALL.replace("3=1", "3=0").replace("-0.05\ta b </s>\n", "")
    tables, words = read_text(tmp_path, text)
    assert tables.order == 2
    assert not tables.tables[-1].log_backoffs.any()
    np.testing.assert_allclose(score_words(tables, words, "b"), [-1.1, -0.15], atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("\\data\\", "data", 1, r"no line \\data\\"),
        ("\\end\\", "", 17, "it may be cut off"),
        ("ngram 2=2", "ngram 2=3", 12, r"\\data\\ declares 3 2-grams, but there are 2"),
        ("ngram 2=2", "ngram 4=2", 3, "expected 'ngram 2='"),
        ("ngram 2=2", "ngram 2=two", 3, "expected 'ngram 2='"),
        ("ngram 3=1\n", "", 15, r"expected \\end\\, found \\3-grams:"),
        ("\\2-grams:", "\\3-grams:", 12, r"expected \\2-grams:, found \\3-grams:"),
        ("-0.7\tb", "0,7\tb", 10, "'0,7' is not a number"),
        ("-0.7\tb", "nan\tb", 10, "'nan' is not a number"),
        ("b\t-0.2", "b\tinf", 10, "'inf' is not a number"),
        ("b\t-0.2", "b\tminus", 10, "'minus' is not a number"),
        ("-0.7\tb", "0.7\tb", 10, "cannot be above 0"),
        ("-0.15\tb </s>", "-0.15\t</s>", 14, "expected a number, 2 words"),
        ("-0.15\tb </s>", "-0.15\tb b b </s>", 14, "expected a number, 2 words"),
        ("-0.15\tb </s>", "-0.15\tc </s>", 14, "the word 'c' is not among the 1-grams"),
        ("-0.15\tb </s>", "-0.15\tb <unk>", 14, "the word '<unk>' is not among the 1-grams"),
        ("-0.15\tb </s>", "-0.15\ta b", 14, "duplicate n-gram"),
        ("-0.7\tb", "-0.7\ta", 10, "duplicate n-gram"),
        ("-0.7\tb", "-0.7\t<eos>", 10, "'<eos>'"),
        ("-0.5\t</s>", "-0.5\tc", 6, "lack </s>"),
    ],
)
def test_what_is_wrong_with_a_file(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in SMALL
    with pytest.raises(InputError, match=message) as caught:
        read_text(tmp_path, SMALL.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'model.arpa'}, line {line}: ")
    assert "\n" not in str(caught.value)
