"""The tokenizer raw-words: splitting, and spelling of rare words."""

import json

import pytest

from elman.text import tokenizer_from_data, tokenizer_to_data
from elman.text.raw_words import RawWords
from elman.text.tokenizer import TextConfig


def tokens_of(text: str, training: str | None = None) -> list[str]:
    tokenizer = RawWords.train(training or text, TextConfig(min_count=1))
    return [tokenizer.tokens[number] for number in tokenizer.encode(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("He's 7.", [" He's", " 7", "."]),
        ("a\n\nb", [" a", "<eos>", "<eos>", " b"]),
        ("a  b", [" a", " ", " b"]),  # the last space belongs to the word
        (" a", [" ", " a"]),
        ("a\tb", [" a", "\t", "b"]),
        ("a ", [" a", " "]),
        ("snake_case4", [" snake", "_", "case", "4"]),
        ("rock 'n' roll", [" rock", " '", "n", "'", " roll"]),
        ("<eos>", [" <", "eos", ">"]),
        ("l’été", [" l’été"]),
        ("…!", [" …", "!"]),
    ],
)
def test_how_text_is_cut(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


def test_a_word_is_one_token_at_the_start_of_a_line_and_within() -> None:
    assert tokens_of("the\nand the") == [" the", "<eos>", " and", " the"]


def test_a_word_not_in_the_vocabulary_is_spelled_in_bytes() -> None:
    assert tokens_of("é", training="a") == ["<0x20>", "<0xC3>", "<0xA9>"]


def test_every_byte_of_a_spelled_word_has_the_place_of_the_word() -> None:
    spans = RawWords.train("a", TextConfig()).spans("x é")
    # The added space, x, the space, two bytes of é.
    assert list(zip(spans.starts, spans.ends, strict=True)) == [(0, 1)] * 2 + [(1, 3)] * 3


def test_words_seen_once_are_spelled_unless_asked_otherwise() -> None:
    assert RawWords.train("a a b", TextConfig()).words == [" a"]
    assert RawWords.train("a a b", TextConfig(min_count=1)).words == [" a", " b"]
    assert RawWords.train("a a b", TextConfig(min_count=3)).words == []


def test_the_rarest_words_do_not_fit_a_small_vocabulary() -> None:
    tokenizer = RawWords.train("a a a b b", TextConfig(vocabulary_size=258))
    assert tokenizer.words == [" a"]
    assert len(tokenizer) == 258


def test_bytes_that_are_no_character_decode_to_the_replacement_character() -> None:
    tokenizer = RawWords.train("a", TextConfig())
    assert tokenizer.decode([1 + 0xC3]) == "\ufffd"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("L'homme qu'il voit", [" L'", "homme", " qu'", "il", " voit"]),
        ("c’est l’été d'Anne", [" c’", "est", " l’", "été", " d'", "Anne"]),
        ("Aujourd'hui, jusqu'ici", [" Aujourd'hui", ",", " jusqu'", "ici"]),
        ("dell'arte, rock 'n' roll", [" dell'", "arte", ",", " rock", " '", "n", "'", " roll"]),
    ],
)
def test_elisions_are_tokens_of_their_own(text: str, tokens: list[str]) -> None:
    config = TextConfig(tokenizer="raw-words", elisions=True, min_count=1)
    tokenizer = RawWords.train(text, config)
    assert [tokenizer.tokens[number] for number in tokenizer.encode(text)] == tokens
    assert tokenizer.decode(tokenizer.encode(text)) == text
    again = tokenizer_from_data(json.loads(json.dumps(tokenizer_to_data(tokenizer))))
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
    spans = again.spans(text)
    assert "".join(text[a:b] for a, b in zip(spans.starts, spans.ends, strict=True)) == text
