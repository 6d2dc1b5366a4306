"""ARPA files with gaps are read as by KenLM and by the definition of back-off."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from elman.counts.tables import Tables
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import write_arpa
from elman.text.words import Words

Score = Callable[[Tables, Words, str], np.ndarray]
KenLM = Callable[[Path, list[str]], list[list[float]]]


# Weights on some entries only, one of them above 0; n-grams in no order; n-grams whose end is not
# listed ("far away" of "hill far away"); <unk> inside n-grams, with a probability of its own.
GAPS = """made by hand
a comment

\\data\\
ngram 1=9
ngram 2=12
ngram 3=9
ngram 4=4

\\1-grams:
-1.1\thill\t-0.35
-1.9\t<unk>\t-0.8
-99\t<s>\t-0.41
-0.9\t</s>
-0.7\tthe\t-0.52
-1.3\ton
-1.4\tfar\t0.12
-1.5\taway\t-0.0
-1.25\tstands\t-0.2

\\2-grams:
-0.31\tthe hill\t-0.22
-0.44\t<s> the\t-0.15
-0.9 on the -0.1
-2.5\t<unk> <unk>\t-0.6
-0.8\t<s> on
-1.2\thill stands\t-0.3
-0.62\tstands on\t-0.4
-1.7\tthe <unk>\t0.05
-0.5\taway </s>
-0.85\thill </s>
-1.05\thill far
-1.15\t<s> <unk>\t-0.07

\\3-grams:
-0.25\t<s> the hill\t-0.17
-0.35\tthe hill stands\t-0.11
-0.45\tthe hill far\t-0.09
-0.21\thill stands on
-0.33\tstands on the\t-0.28
-0.71\ton the hill\t-0.03
-0.19\t<s> on the
-1.6\t<unk> <unk> the\t-0.02
-0.66\thill far away\t-0.13

\\4-grams:
-0.12\t<s> the hill stands
-0.23\tthe hill far away
-0.14\thill far away </s>
-0.34\tstands on the hill

\\end\\
"""


LISTED = ["the", "hill", "stands", "on", "far", "away", "zebra"]


def test_we_give_files_with_gaps_the_scores_kenlm_gives(
    tmp_path: Path, score_words: Score, kenlm_scores: KenLM
) -> None:
    path = tmp_path / "gaps.arpa"
    path.write_text(
        GAPS.partition("comment\n\n")[2].replace("-0.9 on the -0.1", "-0.9\ton the\t-0.1")
    )
    sentences = [" ".join(words) for words in product(LISTED, repeat=4)]
    sentences += ["the hill stands on the hill far away", "hill far away", ""]
    tables, tokens = read_arpa(path)
    words = Words(tokens)
    for sentence, theirs in zip(sentences, kenlm_scores(path, sentences), strict=True):
        np.testing.assert_allclose(theirs, score_words(tables, words, sentence), atol=2e-5)


def back_off(listed: dict[tuple[str, ...], tuple[float, float]], words: tuple[str, ...]) -> float:
    """Log10 probability of the last word after the others, straight from the definition."""
    if words in listed:
        return listed[words][0]
    return listed.get(words[:-1], (0.0, 0.0))[1] + back_off(listed, words[1:])


def test_files_without_beginnings_follow_the_definition(
    tmp_path: Path, score_words: Score, kenlm_scores: KenLM
) -> None:
    # KenLM refuses such files; it does read the one with the beginnings put in.
    text = GAPS.replace("3=9", "3=12").replace("4=4", "4=6")
    text = text.replace(
        "\\4-grams:\n", "-0.4\taway on the\t-0.06\n-0.6\t<s> far </s>\n\\4-grams:\n"
    )
    text = text.replace(
        "\\4-grams:\n", "-0.3\ton on on\t-0.9\n\\4-grams:\n-0.27\tfar far away on\n"
    )
    text = text.replace("\\end", "-0.37\ton <unk> far away\n\\end")
    (tmp_path / "model.arpa").write_text(text)
    tables, tokens = read_arpa(tmp_path / "model.arpa")
    words = Words(tokens)
    listed = {}
    for line in text.replace(" -0.1\n", "\t-0.1\n").replace("-0.9 on", "-0.9\ton").splitlines():
        if line.count("\t"):
            number, names, weight = (line + "\t0").split("\t")[:3]
            listed[tuple(names.split())] = float(number), float(weight)
    sentences = [" ".join(chosen) for chosen in product(LISTED, repeat=4)]
    for sentence in sentences:
        names = [word if word in tokens else "<unk>" for word in sentence.split()]
        padded = ["<s>", *names, "</s>"]
        expected = [back_off(listed, tuple(padded[max(0, i - 3) : i + 1])) for i in range(1, 6)]
        np.testing.assert_allclose(score_words(tables, words, sentence), expected, atol=1e-9)
    write_arpa(tmp_path / "filled.arpa", tables, tokens)
    for sentence, theirs in zip(
        sentences, kenlm_scores(tmp_path / "filled.arpa", sentences), strict=True
    ):
        np.testing.assert_allclose(theirs, score_words(tables, words, sentence), atol=2e-5)


def test_white_space_comments_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "one.arpa").write_text(GAPS)
    messy = GAPS.replace("\t", "  ").replace("\\3-grams:\n", "\\3-grams:  \n\n")
    messy = messy.replace("ngram 4=4\n", " ngram  4 = 4 \n  \n").replace("\n", "\r\n")
    (tmp_path / "two.arpa").write_bytes(messy.encode() + b"\\more\\\nanything")
    one, tokens = read_arpa(tmp_path / "one.arpa")
    two, tokens_again = read_arpa(tmp_path / "two.arpa")
    assert tokens == tokens_again
    assert tokens == ["<eos>", "<unk>", "hill", "the", "on", "far", "away", "stands"]
    for table, other in zip(one.tables, two.tables, strict=True):
        np.testing.assert_array_equal(table.log_probs, other.log_probs)
        np.testing.assert_array_equal(table.log_backoffs, other.log_backoffs)
