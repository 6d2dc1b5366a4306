"""Files of word vectors: every format gives the same vectors, damaged ones give one clear line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from elman.errors import InputError
from elman.formats.word_vectors import (
    Found,
    open_word_vectors,
    read_word_vectors,
    write_word_vectors,
)

WORDS = ["the", "straße", "new york"]
VECTORS = np.array([[0.5, -1.25, 3e-5], [1, 2, 3], [-4, 5.5, 6]], dtype=np.float32)
LINES = ["the 0.5 -1.25 3e-05", "straße 1 2 3", "new york -4 5.5 6"]
GLOVE = "\n".join(LINES) + "\n"
TEXT = f"3 3\n{GLOVE}"
BINARY = b"3 3\n" + b"".join(  # a space ends a word here
    word.encode() + b" " + vector.astype("<f4").tobytes()
    for word, vector in zip(["the", "straße", "york"], VECTORS, strict=True)
)
WITH_NEWLINES = b"3 3\n" + b"".join(
    word.encode() + b" " + vector.astype("<f4").tobytes() + b"\n"
    for word, vector in zip(["a", "b", "c"], VECTORS, strict=True)
)


def read(path: Path) -> Found:
    return read_word_vectors(open_word_vectors(path), lambda word: True)


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        GLOVE.encode(),
        GLOVE.replace("\n", " \n").encode(),  # fastText ends lines with a space
        TEXT.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        b"\xef\xbb\xbf" + GLOVE.encode(),
        TEXT.rstrip("\n").encode(),
        gzip.compress(TEXT.encode(), mtime=0),
    ],
    ids=["word2vec", "glove", "fasttext", "windows", "bom", "bom-glove", "no-newline", "gzip"],
)
def test_every_format_gives_the_same_vectors(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "vectors").write_bytes(content)
    found = read(tmp_path / "vectors")
    assert found.words == WORDS
    np.testing.assert_allclose(found.vectors, VECTORS, rtol=1e-6)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_binary_files(compress: type, tmp_path: Path) -> None:
    (tmp_path / "vectors.bin").write_bytes(compress(BINARY))
    found = read(tmp_path / "vectors.bin")
    assert found.words == ["the", "straße", "york"]
    np.testing.assert_array_equal(found.vectors, VECTORS)
    (tmp_path / "lines.bin").write_bytes(WITH_NEWLINES)
    assert read(tmp_path / "lines.bin").words == ["a", "b", "c"]


def test_only_wanted_words_are_read(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("a 1 2\nb 3 nan\nc 5 6\n")
    found = read_word_vectors(open_word_vectors(tmp_path / "v.txt"), {"a", "c"}.__contains__)
    assert found.words == ["a", "c"]
    assert found.vectors.tolist() == [[1, 2], [5, 6]]


def test_written_files_are_read_again(tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    write_word_vectors(tmp_path / "v.vec", WORDS, table)
    found = read(tmp_path / "v.vec")
    assert found.words == WORDS
    np.testing.assert_allclose(found.vectors, table, rtol=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n", "v:1: the line is empty"),
        (b"a 1 2\nb 1\n", "v:2: 2 columns, but 3 are expected: a word and 2 numbers"),
        (b"a 1 2\nb 1 2 x\n", "v:2: 4 columns, but 3 are expected"),
        (b"a 1 2\nb 1 x\n", "v:2: a number was expected"),
        (b"2 2\na 1 2\nb 1 nan\n", "v:3: NaN or infinity"),
        (b"a 1 2\nb inf 2\n", "v:2: NaN or infinity"),
        (b"2 2\na 1 2\na 3 4\n", "v:3: 'a' is there already, in line 2; remove one"),
        (b"3 2\na 1 2\nb 3 4\n", "promises 3 words, but there are 2; the file is damaged"),
        (b"1 2\na 1 2\nb 3 4\n", "promises 1 words, but there are 2"),
        (b"Call me Ishmael .\n", "v:1: expected a word and its numbers"),
        (b"4 0\n", "v:1: 0 numbers per word"),
        (b"a 1 2\n\xff 3 4\n", "v:2: the word is not UTF-8"),
        (BINARY[:-5], "ends within word 3 of 3; the file is damaged or cut off"),
        (BINARY.replace("straße".encode(), b"the"), "v: word 2: 'the' is there already, in word 1"),
        (BINARY[:4] + b"the " + np.array([1, np.nan, 2], "<f4").tobytes(), "v: word 1: NaN"),
        ((793712314).to_bytes(4, "little") + b"rest", "give the .vec file"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "the gzip file is damaged or cut off"),
    ],
)
def test_damaged_files_give_one_clear_line(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(InputError) as error:
        read(tmp_path / "v")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        open_word_vectors(tmp_path / "missing")
