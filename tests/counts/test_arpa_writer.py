"""ARPA files that we write: reading them back gives the same model, for KenLM too."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from elman.counts.estimate import NgramConfig, estimate
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import NOTHING, OrderTable, Tables
from elman.errors import InputError
from elman.formats.arpa_reader import read_arpa
from elman.formats.arpa_writer import check_exportable, write_arpa
from elman.text.grammar import grammar_text
from elman.text.words import Words

UNKNOWN_WORDS = ["boys who zebra see .", "zebra zebra", "", "the", ". . boy", "dog zebra walks ."]
SENTENCES = grammar_text("test", 60).splitlines() + UNKNOWN_WORDS

Fit = Callable[..., tuple[Tables, Words]]
Score = Callable[[Tables, Words, str], np.ndarray]
KenLM = Callable[[Path, list[str]], list[list[float]]]


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_a_model_survives_the_trip(tmp_path: Path, smoothing: str, order: int, fit: Fit) -> None:
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
    tmp_path: Path, smoothing: str, cutoffs: tuple[int, ...], fit: Fit
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


def test_the_format_of_a_file(tmp_path: Path, fit: Fit) -> None:
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


def test_an_order_emptied_by_cutoffs_is_not_written(tmp_path: Path, fit: Fit) -> None:
    tables, words = fit("a b\na b\n", order=3, cutoffs=(1, 1, 9))
    assert len(tables.tables[2]) == 0
    write_arpa(tmp_path / "model.arpa", tables, words.tokens)
    assert "ngram 3" not in (tmp_path / "model.arpa").read_text()
    assert read_arpa(tmp_path / "model.arpa")[0].order == 2


def test_rounding_above_one_and_minus_zero_are_written_as_zero(tmp_path: Path) -> None:
    ids, zeros = np.arange(3), np.zeros(3, dtype=np.int64)
    words = OrderTable(zeros, ids, np.array([-0.0, 2e-16, -0.5]), np.array([-0.0, -0.0, 0.5]))
    pair = OrderTable(np.array([2]), np.array([2]), np.array([-0.0]), np.zeros(1))
    write_arpa(tmp_path / "model.arpa", Tables([words, pair], 3, 0), ["<eos>", "<unk>", "a"])
    lines = (tmp_path / "model.arpa").read_text().splitlines()
    assert lines[5:8] == ["-99\t<s>\t0", "0\t</s>\t0", "0\t<unk>\t0"]
    assert lines[8:12] == ["-0.217147240952\ta\t0.217147240952", "", "\\2-grams:", "0\ta a"]


def test_the_impossible_stays_impossible(tmp_path: Path, fit: Fit, score_words: Score) -> None:
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


def test_gzip_gives_the_same_model_and_the_same_bytes(tmp_path: Path, fit: Fit) -> None:
    tables, words = fit()
    for name in ("model.arpa", "model.arpa.gz", "second.arpa.gz"):
        write_arpa(tmp_path / name, tables, words.tokens)
    packed = (tmp_path / "model.arpa.gz").read_bytes()
    assert packed == (tmp_path / "second.arpa.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # where gzip keeps the time
    assert gzip.decompress(packed) == (tmp_path / "model.arpa").read_bytes()
    assert read_arpa(tmp_path / "model.arpa.gz")[1] == words.tokens


def test_a_failed_write_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fit: Fit
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
def test_tokens_that_cannot_be_written(
    tmp_path: Path, tokens: list[str], message: str, fit: Fit
) -> None:
    tables, _ = fit("a b\n", order=2)
    with pytest.raises(InputError, match=message):
        write_arpa(tmp_path / "model.arpa", tables, tokens)
    assert not list(tmp_path.iterdir())


def test_a_word_may_hold_a_no_break_space(tmp_path: Path, fit: Fit) -> None:
    tables, _ = fit("a b\n", order=2)
    write_arpa(tmp_path / "model.arpa", tables, ["<eos>", "<unk>", "5\u00a0km", "b"])
    assert read_arpa(tmp_path / "model.arpa")[1][2] == "5\u00a0km"


def test_contexts_across_line_ends_cannot_be_written(fit: Fit) -> None:
    tables, words = fit("a b\na b\n", order=3, context="stream")
    with pytest.raises(InputError, match=r"--set model\.context=line"):
        check_exportable(tables, words.tokens)
    tables, words = fit("a b\na b\n", order=3, context="line")
    check_exportable(tables, words.tokens)


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_kenlm_gives_our_files_the_scores_we_give(
    tmp_path: Path, smoothing: str, fit: Fit, score_words: Score, kenlm_scores: KenLM
) -> None:
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
