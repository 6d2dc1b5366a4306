"""Word surprisals add up to that of the text, for every tokenizer."""

import math

import numpy as np
import pytest
import torch

from elman.counts.estimate import NgramConfig
from elman.evaluation import scoring
from elman.evaluation.measures import Reading
from elman.evaluation.scoring import score_ids
from elman.evaluation.surprisal import WordSurprisal, word_surprisals
from elman.models.ngram import NGram
from elman.text import TOKENIZERS, train_tokenizer
from elman.text.tokenizer import TextConfig, Tokenizer

TRAINING = (
    "the cat sees the dog .\nthe dog sees a naïve café .\n\na cat , a dog ; “ 東京 ” sees  it .\n"
    * 8
)
TEXTS = {
    "plain": "the cat sees the dog .\n",
    "no line end": "the dog sees",
    "unicode": "the “ café ” in 東京 sees a naïve 🐈\u200d⬛ !\n",
    "spaces": "  the   cat \t sees\u00a0 it  \n",
    "blank end": "the cat\nthe dog   ",
    "empty lines": "\n\nthe cat\n\n\na dog\n\n",
    "line end": "\n",
    "carriage": "the cat\r\nsees it\r\n",
}
Pair = tuple[NGram, Tokenizer]


def fitted(name: str, *, order: int = 3, context: str = "line", **settings: object) -> Pair:
    sizes = {"bpe": 280, "unigram": 60}
    config = TextConfig(tokenizer=name, vocabulary_size=sizes.get(name), **settings)
    tokenizer, _ = train_tokenizer(TRAINING, config)
    ngram = NgramConfig(order=order, smoothing="witten-bell", context=context)
    ids = tokenizer.encode(TRAINING)
    size, eos_id = len(tokenizer), tokenizer.eos_id
    return NGram.fit(ids, ngram, vocabulary_size=size, eos_id=eos_id), tokenizer


@pytest.fixture(scope="module", params=TOKENIZERS)
def pair(request: pytest.FixtureRequest) -> Pair:
    return fitted(request.param, context="stream")


@pytest.fixture(scope="module")
def words() -> Pair:
    return fitted("words")


def line_ends_apart(rows: list[WordSurprisal]) -> list[str]:
    return [row.word for row in rows if row.word != "<eos>"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("reset", ["line", "stream"])
def test_rows_add_up_to_the_text(pair: Pair, text: str, reset: str) -> None:
    model, tokenizer = pair
    ids = tokenizer.encode(text)
    nats = -score_ids(model, ids, eos_id=tokenizer.eos_id, reading=Reading(reset)).sum()
    for base in (2.0, math.e, 10.0):
        rows = word_surprisals(model, tokenizer, text, base=base, reset=reset)
        total = sum(row.surprisal_uncorrected for row in rows)
        assert total == pytest.approx(nats / math.log(base), rel=1e-9)
    assert sum(row.tokens for row in rows) == len(ids)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_row_is_a_word_between_white_space_or_a_line_end(pair: Pair, text: str) -> None:
    rows = word_surprisals(*pair, text)
    lines = text.split("\n")
    expected = [
        (number, position, word)
        for number, line in enumerate(lines, 1)
        for position, word in enumerate(line.split() + ["<eos>"] * (number < len(lines)), 1)
    ]
    assert [(row.line, row.position, row.word) for row in rows] == expected


def test_a_word_takes_its_letters_and_the_space_before_it() -> None:
    model, tokenizer = fitted("characters")
    rows = word_surprisals(model, tokenizer, "the cat\n", base=math.e)
    log_probs = score_ids(model, tokenizer.encode("the cat\n"), eos_id=tokenizer.eos_id)
    assert [row.tokens for row in rows] == [3, 4, 1]
    expected = [-log_probs[:3].sum(), -log_probs[3:7].sum(), -log_probs[7]]
    assert [row.surprisal_uncorrected for row in rows] == pytest.approx(expected, rel=1e-12)
    assert [row.rank is None for row in rows] == [True, True, False]


def test_entropy_and_rank_by_hand(words: Pair) -> None:
    model, tokenizer = words
    rows = word_surprisals(model, tokenizer, "the dog\nsees it\n")
    state = model.start(1)
    for row, number in zip(rows, tokenizer.encode("the dog\nsees it\n").tolist(), strict=True):
        probs = model.predict(state)[0].exp().tolist()
        assert sum(probs) == pytest.approx(1)
        assert row.entropy == pytest.approx(-sum(p * math.log2(p) for p in probs))
        assert row.rank == 1 + sum(p > probs[number] for p in probs)
        assert row.surprisal == pytest.approx(-math.log2(probs[number]))
        # Every line begins anew.
        end = number == tokenizer.eos_id
        state = model.start(1) if end else model.read(torch.tensor([[number]]), state)


def test_the_entropy_of_a_spelled_word_is_that_before_its_first_token() -> None:
    model, tokenizer = fitted("characters")
    rows = word_surprisals(model, tokenizer, "the cat", base=math.e)
    before = model.read(torch.from_numpy(tokenizer.encode("the"))[None], model.start(1))
    entropies = [
        float(torch.special.entr(model.predict(state)[0].exp()).sum())
        for state in (model.start(1), before)
    ]
    assert [row.entropy for row in rows] == pytest.approx(entropies)


def test_bases_differ_by_a_factor(words: Pair) -> None:
    bits, nats, bans = (
        word_surprisals(*words, "the cat sees\n", base=base) for base in (2.0, math.e, 10.0)
    )
    for two, e, ten in zip(bits, nats, bans, strict=True):
        assert two.surprisal * math.log(2) == pytest.approx(e.surprisal)
        assert ten.surprisal * math.log(10) == pytest.approx(e.surprisal)
        assert two.entropy * math.log(2) == pytest.approx(e.entropy)
        assert two.rank == e.rank == ten.rank


def test_a_stream_reads_on_and_a_line_begins_anew() -> None:
    model, tokenizer = fitted("words", context="stream")
    text = "the cat sees the dog .\nthe dog\n"
    line = word_surprisals(model, tokenizer, text, reset="line")
    stream = word_surprisals(model, tokenizer, text, reset="stream")
    assert [row.surprisal for row in line[:7]] == [row.surprisal for row in stream[:7]]
    assert line[7].surprisal != stream[7].surprisal
    alone = word_surprisals(model, tokenizer, "the dog\n")
    assert [row.surprisal for row in line[7:]] == [row.surprisal for row in alone]


def test_unknown_words_are_marked(words: Pair) -> None:
    rows = word_surprisals(*words, "the zebra sees <unk>\n")
    assert [row.unknown for row in rows] == [False, True, False, True, False]
    assert line_ends_apart(rows) == ["the", "zebra", "sees", "<unk>"]


@pytest.mark.parametrize("name", ["raw-words", "bytes", "bpe"])
def test_where_nothing_is_unknown_no_word_is_marked(name: str) -> None:
    rows = word_surprisals(*fitted(name), "the zebra 🦓\n")
    assert not any(row.unknown for row in rows)


def test_words_keep_their_case_in_the_table() -> None:
    rows = word_surprisals(*fitted("words", lowercase=True), "The CAT\n")
    assert line_ends_apart(rows) == ["The", "CAT"]
    assert not any(row.unknown for row in rows)


def test_no_text_has_no_rows(pair: Pair) -> None:
    assert word_surprisals(*pair, "") == []


def test_blanks_alone_are_one_row_or_none(pair: Pair) -> None:
    model, tokenizer = pair
    tokens = len(tokenizer.encode("   "))
    rows = word_surprisals(model, tokenizer, "   ")
    assert [row.tokens for row in rows] == ([tokens] if tokens else [])


def test_a_long_text_is_predicted_in_parts(words: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the cat sees the dog .\na dog\n"
    at_once = word_surprisals(*words, text, reset="stream")
    monkeypatch.setattr(scoring, "_AT_ONCE", 1)
    assert word_surprisals(*words, text, reset="stream") == at_once


def test_an_impossible_word_is_infinitely_surprising() -> None:
    tokenizer, _ = train_tokenizer("a b\n", TextConfig(tokenizer="words"))
    config = NgramConfig(order=1, smoothing="maximum-likelihood")
    ids = tokenizer.encode("a b\n")
    model = NGram.fit(ids, config, vocabulary_size=len(tokenizer), eos_id=tokenizer.eos_id)
    rows = word_surprisals(model, tokenizer, "a c\n")
    assert rows[1].surprisal == math.inf
    assert rows[1].entropy == pytest.approx(np.log2(3))  # a, b and the line end, one third each
