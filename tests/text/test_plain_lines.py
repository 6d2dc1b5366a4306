"""Plain text as sentences: where lines are cut."""

import pytest

from elman.errors import InputError
from elman.tasks.embedding.task import cut, read_plain_lines
from elman.text.reader import Document


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("a b c d", ["a b c d"]),
        ("a b c d e f", ["a b c d", "e f"]),
        ("a . b c d e", ["a .", "b c d e"]),
        ("a . b ! c d e", ["a . b !", "c d e"]),
        ("a b c ? d e f .", ["a b c ?", "d e f ."]),
        ("a b c d . e", ["a b c d", ". e"]),
        ("Mr. b c d e", ["Mr. b c d", "e"]),
        ("", []),
    ],
)
def test_long_lines_are_cut_after_a_sentence(line: str, pieces: list[str]) -> None:
    assert [" ".join(piece) for piece in cut(tuple(line.split()), 4)] == pieces


def test_lines_are_read() -> None:
    document = Document("some.txt", " \n = A =\n\n b\u00a0c d\te . \n")
    assert read_plain_lines(document, 3) == [("=", "A", "="), ("b", "c", "d"), ("e", ".")]


def test_no_words_at_all() -> None:
    with pytest.raises(InputError, match=r"some\.txt: there are no words"):
        read_plain_lines(Document("some.txt", " \n\n"), 3)
