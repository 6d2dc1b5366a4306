"""Byte-pair and unigram tokenizers: merges, positions, vocabulary sizes."""

import pytest

from elman.errors import InputError
from elman.text.python_docs import python_docs_text
from elman.text.subwords import BytePairs, Unigram
from elman.text.tokenizer import TextConfig

TEXT = "the cat sat on the mat and the dog sat on the cat today\n" * 20


def tokens_of(tokenizer: BytePairs | Unigram, text: str) -> list[str]:
    return [tokenizer.tokens[number] for number in tokenizer.encode(text)]


def test_frequent_pairs_are_merged_and_the_space_belongs_to_the_word() -> None:
    tokenizer = BytePairs.train(TEXT, TextConfig(vocabulary_size=300))
    assert tokens_of(tokenizer, "the the\n") == ["the", "␣the", "<eos>"]


def test_the_smallest_byte_pair_vocabulary_merges_nothing() -> None:
    tokenizer = BytePairs.train(TEXT, TextConfig(vocabulary_size=257))
    assert len(tokenizer) == 257
    assert len(tokenizer.encode("the é")) == 6


def test_pairs_seen_too_rarely_are_not_merged() -> None:
    assert len(BytePairs.train("abab", TextConfig(min_count=3))) == 257
    # ab is seen twice; then abab once, which is not enough.
    assert BytePairs.train("abab", TextConfig(min_count=2)).tokens[257:] == ["ab"]


def test_all_bytes_of_a_character_have_its_place() -> None:
    spans = BytePairs.train("a", TextConfig()).spans("é\na")
    assert list(zip(spans.starts, spans.ends, strict=True)) == [(0, 1), (0, 1), (1, 2), (2, 3)]


def test_unigram_finds_the_words() -> None:
    text = python_docs_text("valid")
    tokenizer = Unigram.train(text, TextConfig(vocabulary_size=500))
    assert tokens_of(tokenizer, "in the\n")[-2:] == [" the", "<eos>"]
    assert len(tokenizer.encode(text)) < len(text) / 2
    assert tokenizer.tokens[:2] == ["<eos>", "<unk>"]


def test_unigram_knows_the_characters_of_its_training_only() -> None:
    tokenizer = Unigram.train(TEXT, TextConfig())
    assert tokenizer.unknown_id == 1
    assert tokens_of(tokenizer, "a\u03a9a") == ["a", "<unk>", "a"]


def test_an_unk_in_the_text_is_not_the_unknown_token() -> None:
    tokenizer = Unigram.train("<unk> a <unk> b\n" * 9, TextConfig())
    ids = tokenizer.encode("<unk><unk>")
    assert 1 not in ids
    assert tokenizer.decode(ids) == "<unk><unk>"


def test_unigram_in_lower_case_has_no_capitals() -> None:
    tokenizer = Unigram.train("The CAT\n" * 9, TextConfig(lowercase=True))
    assert not any(letter.isupper() for token in tokenizer.tokens for letter in token)


def test_unigram_needs_room_for_every_character() -> None:
    # <eos>, <unk>, a, b, c, space
    with pytest.raises(InputError, match=r"vocabulary_size=5: .* at least 6"):
        Unigram.train("a b c\n", TextConfig(vocabulary_size=5))
    assert len(Unigram.train("a b c\n", TextConfig(vocabulary_size=6))) == 6


def test_unigram_makes_room_for_more_characters_than_its_usual_size() -> None:
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 8100)))
    assert len(Unigram.train(letters, TextConfig())) >= 8102
