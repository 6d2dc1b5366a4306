"""Text with the distances of heads, from CoNLL-U."""

from pathlib import Path

import pytest

from elman.errors import InputError
from elman.text.parsed_text import arrow_distance, open_parsed_text, with_heads
from elman.text.reader import Document


def row(number: str, form: str, head: object) -> str:
    return "\t".join([number, form, *"____", str(head), "_", "_", "_"])


CAT = [
    "# text = The dog saw a cat",
    row("1", "The", 2),
    row("2", "dog", 3),
    row("3", "saw", 0),
    row("4", "a", 5),
    row("5", "cat", 3),
]


def convert(*lines: str) -> Document:
    return with_heads(Document("some.conllu", "\n".join([*lines, ""])))


def test_only_heads_before_a_word_are_told() -> None:
    assert convert(*CAT).text == "The ←0 dog ←0 saw ←0 a ←0 cat ←2\n"


def test_sentences_are_lines_and_multiword_tokens_their_words() -> None:
    lines = [row("1-2", "don't", "_"), row("1", "do", 0), row("2", "n't", 1), row("2.1", "x", "_")]
    assert convert(*lines, "", *CAT[1:2], "").text == "do ←0 n't ←1\nThe ←0\n"


def test_words_with_spaces_are_one_token() -> None:
    assert len(convert(row("1", "1 000", 0)).text.split(" ")) == 2


def test_far_heads_are_none_and_reported() -> None:
    lines = [row(str(number), "w", 1 if number > 1 else 0) for number in range(1, 34)]
    document = convert(*lines)
    assert document.text.split()[-6:] == ["w", "←30", "w", "←0", "w", "←0"]
    assert document.notes == ["2 heads farther back than 30 words count as none"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row("1", "The", "_"), "line 1: the head of a word must be a number, not '_'"),
        ("1\tThe\t2", "line 1: has 3 columns; CoNLL-U has 10"),
    ],
)
def test_files_without_heads_are_refused(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        convert(line)


def test_a_folder_and_a_file_that_is_text_already(tmp_path: Path) -> None:
    for split, number in (("train", 5), ("dev", 2), ("test", 2)):
        text = ("\n".join([*CAT, ""]) + "\n") * number
        (tmp_path / f"x-{split}.conllu").write_text(text, encoding="utf-8")
    corpus = open_parsed_text(str(tmp_path))
    assert corpus.split("valid").text == "The ←0 dog ←0 saw ←0 a ←0 cat ←2\n" * 2
    (tmp_path / "plain.txt").write_text("a ←0 b ←1\n" * 100, encoding="utf-8")
    assert open_parsed_text(str(tmp_path / "plain.txt")).split("test").text[:10] == "a ←0 b ←1\n"


def test_text_without_heads_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("a b c\n", encoding="utf-8")
    with pytest.raises(InputError, match="plain.txt: tells no heads .* give a treebank"):
        open_parsed_text(str(tmp_path / "plain.txt"))
    with pytest.raises(InputError, match="grammar: tells no heads"):
        open_parsed_text("grammar")


def test_arrows_are_told_from_words() -> None:
    tokens = ["←0", "←12", "←", "12", "←x", "a←1", "←²"]
    assert [arrow_distance(token) for token in tokens] == [0, 12, -1, -1, -1, -1, -1]
