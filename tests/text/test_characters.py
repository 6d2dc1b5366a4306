"""One token per character."""

from elman.text.characters import Bytes, Characters
from elman.text.tokenizer import TextConfig


def test_characters_are_numbered_by_frequency_then_code() -> None:
    tokenizer = Characters.train("abba\nac", TextConfig())
    assert tokenizer.tokens == ["<eos>", "<unk>", "a", "b", "c"]
    assert tokenizer.encode("cab\n").tolist() == [4, 2, 3, 0]


def test_a_character_not_seen_is_unknown_below_and_above_the_known_codes() -> None:
    tokenizer = Characters.train("é", TextConfig())
    assert tokenizer.encode("aèéê😀").tolist() == [1, 1, 2, 1, 1]  # codes è, é, ê follow each other
    assert tokenizer.decode([1, 2, 0]) == "<unk>é\n"


def test_rare_characters_are_unknown() -> None:
    assert Characters.train("aabc", TextConfig(min_count=2)).characters == ["a"]
    assert Characters.train("aabc", TextConfig(vocabulary_size=4)).characters == ["a", "b"]


def test_one_span_per_character() -> None:
    spans = Characters.train("ab", TextConfig()).spans("a😀b")
    assert spans.starts.tolist() == [0, 1, 2]
    assert spans.ends.tolist() == [1, 2, 3]


def test_the_id_is_the_byte_and_the_newline_is_the_end_of_line() -> None:
    tokenizer = Bytes.train("", TextConfig())
    assert tokenizer.encode("aé\n").tolist() == [0x61, 0xC3, 0xA9, 0x0A]
    assert tokenizer.eos_id == 0x0A
    assert [tokenizer.tokens[b] for b in (0x61, 0xC3, 0x0A, 0x7F)] == [
        "a",
        "<0xC3>",
        "<eos>",
        "<0x7F>",
    ]


def test_all_bytes_of_a_character_have_its_place() -> None:
    spans = Bytes().spans("é😀a")
    assert spans.starts.tolist() == [0, 0, 1, 1, 1, 1, 2]
    assert spans.ends.tolist() == [1, 1, 2, 2, 2, 2, 3]


def test_bytes_that_are_no_character_decode_to_the_replacement_character() -> None:
    assert Bytes().decode([0x61, 0xC3]) == "a\ufffd"
