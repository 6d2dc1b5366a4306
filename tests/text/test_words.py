"""The tokenizer words: known words are restored, others become `<unk>`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elman.errors import InputError
from elman.text.tokenizer import TextConfig
from elman.text.words import Words

TEXT = "the cat sat\nthe dog sat\n"


def test_words_are_numbered_by_frequency_then_alphabet() -> None:
    tokenizer = Words.train(TEXT, TextConfig())
    assert tokenizer.tokens == ["<eos>", "<unk>", "sat", "the", "cat", "dog"]
    assert tokenizer.encode(TEXT).tolist() == [3, 4, 2, 0, 3, 5, 2, 0]


def test_a_word_not_seen_is_unknown_and_so_is_a_written_unk() -> None:
    tokenizer = Words.train("a <unk> a", TextConfig())
    assert tokenizer.tokens == ["<eos>", "<unk>", "a"]
    assert tokenizer.encode("a b <unk>").tolist() == [2, 1, 1]
    assert tokenizer.decode([2, 1, 1]) == "a <unk> <unk>"


@given(
    st.lists(st.sampled_from(["the", "cat", "<eos>x", "a<eos>b", "\n", "\n\n", " \t ", "\u2028"]))
)
def test_known_words_come_back_with_single_spaces(pieces: list[str]) -> None:
    tokenizer = Words.train("the cat <eos>x a<eos>b", TextConfig())
    text = " ".join(pieces)
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.normalise(text)


def test_white_space_within_a_line_is_one_space() -> None:
    tokenizer = Words.train(TEXT, TextConfig())
    assert tokenizer.normalise(" the \t cat\r\n\n  sat\u2028") == "the cat\n\nsat"


def test_words_seen_too_rarely_are_unknown() -> None:
    tokenizer = Words.train(TEXT, TextConfig(min_count=2))
    assert tokenizer.tokens == ["<eos>", "<unk>", "sat", "the"]


def test_the_rarest_words_do_not_fit_a_small_vocabulary() -> None:
    tokenizer = Words.train(TEXT, TextConfig(vocabulary_size=3))
    assert tokenizer.tokens == ["<eos>", "<unk>", "sat"]


@pytest.mark.parametrize("marker", ["<eos>", "<s>", "</s>"])
def test_a_marker_in_the_text_is_refused_with_its_line(marker: str) -> None:
    tokenizer = Words.train(TEXT, TextConfig())
    text = f"a{marker} is a word\n\nbut {marker} is not"
    with pytest.raises(InputError, match=f"line 3: the word '{marker}'.*raw-words"):
        Words.train(text, TextConfig())
    with pytest.raises(InputError, match="line 3"):
        tokenizer.encode(text)
    with pytest.raises(InputError, match="line 3"):
        tokenizer.spans(text)


def test_a_marker_in_capitals_is_refused_where_case_is_lost() -> None:
    with pytest.raises(InputError, match="line 1: the word '<eos>'"):
        Words.train("<EOS>", TextConfig(lowercase=True))
    assert "<EOS>" in Words.train("<EOS>", TextConfig()).tokens


def test_spans_are_the_words_and_the_line_ends() -> None:
    spans = Words.train(TEXT, TextConfig()).spans("the  cat\n")
    assert list(zip(spans.starts, spans.ends, strict=True)) == [(0, 3), (5, 8), (8, 9)]


def test_a_written_unk_is_known() -> None:
    tokenizer = Words.train("a b <unk>\n", TextConfig())
    text = "a <unk> zebra\n"
    ids = tokenizer.encode(text)
    assert ids.tolist().count(tokenizer.unknown_id) == 2
    assert tokenizer.count_unknown(text, ids) == 1
