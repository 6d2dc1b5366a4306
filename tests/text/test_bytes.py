"""One token per byte of UTF-8."""

from elman.text.bytes import Bytes
from elman.text.tokenizer import TextConfig


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
