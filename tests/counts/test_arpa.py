"""ARPA files: our models survive the trip, other toolkits' files are read as they are meant."""

import gzip
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from elman.counts.arpa_reader import read_arpa
from elman.counts.arpa_writer import check_exportable, write_arpa
from elman.counts.estimate import NgramConfig, estimate
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import NOTHING, Table, Tables
from elman.errors import InputError
from elman.text.grammar import grammar_text
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

TRAIN = grammar_text("train", 150)
OTHER = grammar_text("test", 60)
UNKNOWN_WORDS = ["boys who zebra see .", "zebra zebra", "", "the", ". . boy", "dog zebra walks ."]
SENTENCES = OTHER.splitlines() + UNKNOWN_WORDS


def fit(text: str = TRAIN, **settings: object) -> tuple[Tables, Words]:
    words = Words.train(text, TextConfig())
    config = NgramConfig(**{"order": 4, **settings})  # type: ignore[arg-type]
    ids = words.encode(text)
    return estimate(ids, config, vocabulary_size=len(words), eos_id=0), words


def score_words(tables: Tables, words: Words, sentence: str) -> np.ndarray:
    """Log10 probabilities of the words of a sentence and of its end."""
    row = np.concatenate([[0], words.encode(sentence + "\n")])
    return tables.score(row[None])[0] / np.log(10)


def kenlm_scores(path: Path, sentences: list[str]) -> list[list[float]]:
    kenlm = pytest.importorskip("kenlm", reason="KenLM is not installed")
    model = kenlm.Model(str(path))
    return [[score for score, _, _ in model.full_scores(sentence)] for sentence in sentences]


# There and back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_model_survives_the_trip(tmp_path: Path, smoothing: str, order: int) -> None:
    tables, words = fit(order=order, smoothing=smoothing)
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    again, tokens = read_arpa(tmp_path / "model.arpa")
    assert tokens == words.tokens
    assert [len(table) for table in again.tables] == [len(table) for table in tables.tables]
    row = np.concatenate([[0], words.encode("\n".join(SENTENCES) + "\n")])[None]
    np.testing.assert_allclose(again.score(row), tables.score(row), rtol=0, atol=1e-9)
    for table, copy in zip(tables.tables, again.tables, strict=True):
        np.testing.assert_array_equal(copy.prefixes, table.prefixes)
        np.testing.assert_array_equal(copy.words, table.words)
        np.testing.assert_allclose(copy.log_backoffs, table.log_backoffs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("cutoffs", [(), (1, 1, 2)])
def test_distributions_read_back_sum_to_one(
    tmp_path: Path, smoothing: str, cutoffs: tuple[int, ...]
) -> None:
    tables, words = fit(smoothing=smoothing, cutoffs=cutoffs)
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    again, _ = read_arpa(tmp_path / "model.arpa")
    start = [NOTHING, NOTHING, 0]
    seen = words.encode("boys who see").tolist()
    unseen = [words.unknown_id, *words.encode(". .").tolist()]
    half_seen = [words.unknown_id, *words.encode("boy who").tolist()]
    log_probs = again.predict(np.array([start, seen, unseen, half_seen]))
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1, rtol=0, atol=1e-9)


def test_the_format_of_a_file(tmp_path: Path) -> None:
    # "a a" has the 1-grams a: 2, <eos>: 1, so by relative frequency a has 2/3, </s> 1/3.
    # After the start: a 1/1. After a: a 1/2, </s> 1/2. Nothing is handed down: back-off zero.
    tables, words = fit("a a\n", order=2, smoothing="maximum-likelihood")
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    assert (tmp_path / "model.arpa").read_text() == (
        "\\data\\\nngram 1=4\nngram 2=3\n"
        "\n\\1-grams:\n"
        "-99\t<s>\t-99\n"
        "-0.47712125472\t</s>\t0\n"
        "-99\t<unk>\t0\n"
        "-0.176091259056\ta\t-99\n"
        "\n\\2-grams:\n"
        "0\t<s> a\n"
        "-0.301029995664\ta </s>\n"
        "-0.301029995664\ta a\n"
        "\n\\end\\\n"
    )


def test_an_order_emptied_by_cutoffs_is_not_written(tmp_path: Path) -> None:
    tables, words = fit("a b\na b\n", order=3, cutoffs=(1, 1, 9))
    assert len(tables.tables[2]) == 0
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    assert "ngram 3" not in (tmp_path / "model.arpa").read_text()
    assert read_arpa(tmp_path / "model.arpa")[0].order == 2


def test_rounding_above_one_and_minus_zero_are_written_as_zero(tmp_path: Path) -> None:
    ids, zeros = np.arange(3), np.zeros(3, dtype=np.int64)
    words = Table(zeros, ids, np.array([-0.0, 2e-16, -0.5]), np.array([-0.0, -0.0, 0.5]))
    pair = Table(np.array([2]), np.array([2]), np.array([-0.0]), np.zeros(1))
    write_arpa(tmp_path / "model.arpa", Tables([words, pair], 3, 0), ["<eos>", "<unk>", "a"])
    lines = (tmp_path / "model.arpa").read_text().splitlines()
    assert lines[5:8] == ["-99\t<s>\t0", "0\t</s>\t0", "0\t<unk>\t0"]
    assert lines[8:12] == ["-0.217147240952\ta\t0.217147240952", "", "\\2-grams:", "0\ta a"]


def test_the_impossible_stays_impossible(tmp_path: Path) -> None:
    tables, words = fit(smoothing="maximum-likelihood")
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    again, _ = read_arpa(tmp_path / "model.arpa")
    assert score_words(again, words, "zebra")[0] == -np.inf


def test_a_vocabulary_without_unknown_gets_one_of_probability_zero(tmp_path: Path) -> None:
    config = NgramConfig(order=2, smoothing="witten-bell")
    tables = estimate(np.array([0, 1, 2, 0, 2]), config, vocabulary_size=3, eos_id=2)
    tokens = ["x", "y", "<eos>"]  # as for bytes, <eos> need not be the first
    write_arpa(tmp_path / "model.arpa", tables, tokens)
    again, tokens_again = read_arpa(tmp_path / "model.arpa")
    assert tokens_again == ["<eos>", "<unk>", "x", "y"]
    expected = tables.predict(np.array([[2], [0], [1]]))[:, [2, 0, 1]]
    found = again.predict(np.array([[0], [2], [3]]))
    np.testing.assert_allclose(found[:, [0, 2, 3]], expected, atol=1e-10)
    assert (found[:, 1] == -np.inf).all()


def test_gzip_gives_the_same_model_and_the_same_bytes(tmp_path: Path) -> None:
    tables, words = fit()
    for name in ("model.arpa", "model.arpa.gz", "second.arpa.gz"):
        write_arpa(tmp_path / name, tables, words.tokens)
    packed = (tmp_path / "model.arpa.gz").read_bytes()
    assert packed == (tmp_path / "second.arpa.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # where gzip keeps the time
    assert gzip.decompress(packed) == (tmp_path / "model.arpa").read_bytes()
    assert read_arpa(tmp_path / "model.arpa.gz")[1] == words.tokens


def test_a_failed_write_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    tables, words = fit(order=2)
    (tmp_path / "model.arpa").write_text("old")
    monkeypatch.setattr("elman.atomic.os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    assert [path.name for path in tmp_path.iterdir()] == ["model.arpa"]
    assert (tmp_path / "model.arpa").read_text() == "old"


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["<eos>", "<unk>", " ", "b"], "the token ' ' .* text.tokenizer=words"),
        (["<eos>", "<unk>", "a\tb", "b"], r"the token 'a\\tb' .* text.tokenizer=words"),
        (["<eos>", "<unk>", "", "b"], "the token '' .* text.tokenizer=words"),
        (["<eos>", "<unk>", "<s>", "b"], "'<s>' is a marker"),
        (["<eos>", "<unk>", "b", "b"], "two tokens are written 'b'"),
        (["<eos>", "<unk>", "\ud800", "b"], "half a character"),
    ],
)
def test_tokens_that_cannot_be_written(tmp_path: Path, tokens: list[str], message: str) -> None:
    tables, _ = fit("a b\n", order=2)
    with pytest.raises(InputError, match=message):
        write_arpa(tmp_path / "model.arpa", tables, tokens)
    assert not list(tmp_path.iterdir())


def test_a_word_may_hold_a_no_break_space(tmp_path: Path) -> None:
    tables, _ = fit("a b\n", order=2)
    write_arpa(tmp_path / "model.arpa", tables, ["<eos>", "<unk>", "5\u00a0km", "b"])
    assert read_arpa(tmp_path / "model.arpa")[1][2] == "5\u00a0km"


def test_contexts_across_line_ends_cannot_be_written() -> None:
    tables, words = fit("a b\na b\n", order=3, context="stream")
    with pytest.raises(InputError, match=r"--set model\.context=line"):
        check_exportable(tables, words.tokens)
    tables, words = fit("a b\na b\n", order=3, context="line")
    check_exportable(tables, words.tokens)


# Against KenLM ------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_kenlm_gives_our_files_the_scores_we_give(tmp_path: Path, smoothing: str) -> None:
    tables, words = fit(smoothing=smoothing)
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    for sentence, theirs in zip(
        SENTENCES, kenlm_scores(tmp_path / "model.arpa", SENTENCES), strict=True
    ):
        ours = score_words(tables, words, sentence)
        possible = np.isfinite(ours)
        np.testing.assert_allclose(np.array(theirs)[possible], ours[possible], atol=2e-5)
        assert (np.array(theirs)[~possible] < -90).all()
        assert sum(theirs) == pytest.approx(ours.sum(), abs=1e-4) or not possible.all()


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


def test_we_give_files_with_gaps_the_scores_kenlm_gives(tmp_path: Path) -> None:
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


def test_files_without_beginnings_follow_the_definition(tmp_path: Path) -> None:
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


# Files of other toolkits --------------------------------------------------------------------------

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


def test_a_beginning_that_is_not_listed_changes_no_score(tmp_path: Path) -> None:
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


def test_beginnings_can_be_missing_at_several_orders(tmp_path: Path) -> None:
    # Neither "b b" nor "b b a" is listed. p(a | b b) = backoff(b) p(a) = -0.2 - 0.6.
    text = SMALL.replace("3=1\n", "3=1\nngram 4=1\n")
    text = text.replace("\\end", "\\4-grams:\n-0.03\tb b a </s>\n\n\\end")
    tables, words = read_text(tmp_path, text)
    found = score_words(tables, words, "b b a")
    # p(b | b) = backoff(b) p(b) = -0.2 - 0.7
    np.testing.assert_allclose(found, [-1.1, -0.9, -0.8, -0.03], atol=1e-12)


def test_words_of_a_file_without_unknown_have_probability_zero(tmp_path: Path) -> None:
    tables, words = read_text(tmp_path, SMALL)
    assert score_words(tables, words, "zebra")[0] == -np.inf
    assert any("<unk>" in note for note in tables.notes)


def test_an_upper_case_unknown_is_the_unknown(tmp_path: Path) -> None:
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
    assert any("3 n-grams that run across line ends" in note for note in tables.notes)


def test_a_weight_after_the_end_of_a_line_does_not_reach_the_next(tmp_path: Path) -> None:
    expected, words = read_text(tmp_path, SMALL)
    text = SMALL.replace("-0.15\tb </s>", "-0.15\tb </s>\t-5").replace(
        "-0.5\t</s>", "-0.5\t</s>\t-5"
    )
    tables, _ = read_text(tmp_path, text)
    row = words.encode("a b\nb b\nb\n")[None]
    np.testing.assert_array_equal(tables.score(row), expected.score(row))


def test_an_empty_highest_order_is_none(tmp_path: Path) -> None:
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
        ("ngram 2=2", "ngram 2=3", 12, r"\\data\\ promises 3 2-grams, but 2 stand here"),
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
        ("-0.15\tb </s>", "-0.15\ta b", 14, "a second time"),
        ("-0.7\tb", "-0.7\ta", 10, "a second time"),
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
