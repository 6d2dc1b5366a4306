"""Files of word vectors: word2vec text and binary, GloVe, fastText `.vec`; also gzipped.

    word2vec text, fastText     400000 300        a line with the numbers of words and of columns,
                                the 0.04 -0.21 …  then a word and its numbers in every line
    GloVe                       the 0.04 -0.21 …  the same without the first line
    word2vec binary             the same first line, then words, a space, and float32 numbers

The words come in the order of their frequency. Takes a file and the words that are wanted, gives
their vectors; the numbers of other words are counted, not read. A damaged file is refused with its
line. Nothing is executed: there is no pickle here.
"""

from __future__ import annotations

import gzip
import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elman.atomic import replacing
from elman.errors import InputError
from elman.formats import Exported

_BOM = b"\xef\xbb\xbf"
_FASTTEXT = (793712314).to_bytes(4, "little")  # how a fastText model begins
_LONGEST_WORD = 10_000  # bytes; more means that the file is something else
_MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class VectorFile:
    """A file of word vectors, before its words are read."""

    path: Path
    data: Any  # bytes, or memory-mapped
    start: int  # of the first word
    words: int | None  # as the first line says; GloVe has no such line
    size: int  # numbers per vector
    binary: bool

    def __iter__(self) -> Iterator[tuple[str, bytes, int]]:
        """Every word with its numbers as they are written, and the line or number of the word."""
        found = 0
        for entry in self._binary() if self.binary else self._lines():
            yield entry
            found += 1
        if self.words is not None and found != self.words:
            raise InputError(
                f"{self.path}: the first line promises {self.words:,} words, but there are "
                f"{found:,}; the file is damaged or cut off"
            )

    def numbers(self, written: bytes, line: int) -> np.ndarray:
        """The numbers of a word."""
        try:
            if self.binary:
                vector = np.frombuffer(written, dtype="<f4")
            else:
                vector = np.array(written.split(), dtype=np.float32)
            if len(vector) != self.size:
                raise ValueError
        except ValueError:
            raise InputError(f"{self._where(line)}: a number was expected") from None
        if not np.isfinite(vector).all():
            raise InputError(f"{self._where(line)}: NaN or infinity; remove the line")
        return vector

    def _where(self, line: int) -> str:
        return f"{self.path}: word {line:,}" if self.binary else f"{self.path}:{line}"

    def _lines(self) -> Iterator[tuple[str, bytes, int]]:
        place, line = self.start, 1 if self.words is None else 2
        while place < len(self.data):
            end = self.data.find(b"\n", place)
            end = len(self.data) if end < 0 else end
            written = self.data[place:end].rstrip()
            if written:
                word, numbers = self._divide(written, line)
                yield self._word(word, line), numbers, line
            place, line = end + 1, line + 1

    def _divide(self, written: bytes, line: int) -> tuple[bytes, bytes]:
        """The word and the numbers of a line."""
        word, _, numbers = written.partition(b" ")
        if word and numbers.count(b" ") == self.size - 1:
            return word, numbers
        # A word may contain spaces, as a few of GloVe do: the last columns are the numbers.
        parts = written.rsplit(None, self.size)
        if len(parts) == self.size + 1 and _are_numbers(parts[1:]):
            return parts[0], b" ".join(parts[1:])
        raise InputError(
            f"{self._where(line)}: {len(written.split())} columns, but {self.size + 1} are "
            f"expected: a word and {self.size} numbers"
        )

    def _binary(self) -> Iterator[tuple[str, bytes, int]]:
        place, width = self.start, 4 * self.size
        for number in range(1, (self.words or 0) + 1):
            space = self.data.find(b" ", place, place + _LONGEST_WORD)
            end = space + 1 + width
            if space < 0 or end > len(self.data):
                raise InputError(
                    f"{self.path}: ends within word {number:,} of {self.words:,}; the file is "
                    "damaged or cut off"
                )
            word = self._word(self.data[place:space].lstrip(b"\n"), number)
            yield word, self.data[space + 1 : end], number
            place = end

    def _word(self, written: bytes, line: int) -> str:
        try:
            return written.decode()
        except UnicodeDecodeError:
            if not self.binary:
                raise InputError(f"{self._where(line)}: the word is not UTF-8") from None
            return written.decode(errors="replace")  # published files cut some words in half


@dataclass(frozen=True)
class Found:
    """Vectors from a file."""

    words: list[str]
    vectors: np.ndarray  # (words, size)


def read_word_vectors(file: VectorFile, wanted: Callable[[str], bool]) -> Found:
    """The wanted words with their vectors, in the order of the file; a word that comes twice is
    refused.
    """
    lines: dict[str, int] = {}
    vectors = []
    for word, written, line in file:
        if not wanted(word):
            continue
        if word in lines:
            where = "word" if file.binary else "line"
            raise InputError(
                f"{file._where(line)}: {word!r} is there already, in {where} {lines[word]:,}; "
                "remove one of the two"
            )
        lines[word] = line
        vectors.append(file.numbers(written, line))
    table = np.stack(vectors) if vectors else np.zeros((0, file.size), dtype=np.float32)
    return Found([*lines], table)


def open_word_vectors(path: Path) -> VectorFile:
    """Look at the beginning of a file: its format and the size of its vectors."""
    data = _read(path)
    start = len(_BOM) if data[:3] == _BOM else 0
    if data[start : start + 4] == _FASTTEXT:
        raise InputError(f"{path}: is a fastText model; give the .vec file next to it")
    end = data.find(b"\n", start)
    first = data[start : len(data) if end < 0 else end]
    if not first.strip():
        raise InputError(f"{path}:1: the line is empty; this is no file of word vectors")
    columns = first.split() if len(first) < 20 * _MOST_COLUMNS else []
    if len(columns) == 2 and all(column.isdigit() for column in columns):
        words, size = map(int, columns)
        if not 1 <= size <= _MOST_COLUMNS:
            raise InputError(f"{path}:1: {size} numbers per word; this is no file of word vectors")
        binary = not _is_text(data[end + 1 : end + 1 + 200 + 4 * size])
        return VectorFile(path, data, end + 1, words, size, binary)
    if len(columns) < 2 or not _are_numbers(columns[1:]):
        raise InputError(
            f"{path}:1: expected a word and its numbers, or the numbers of words and columns; give "
            "vectors of word2vec, GloVe or fastText (.vec), or a run of elman train word2vec"
        )
    return VectorFile(path, data, start, None, len(columns) - 1, False)


def _read(path: Path) -> Any:
    """The content of a file; a large one stays on disk."""
    try:
        with path.open("rb") as file:
            if file.read(2) == b"\x1f\x8b":
                file.seek(0)
                return gzip.GzipFile(fileobj=file).read()
            if file.seek(0, 2) == 0:
                raise InputError(f"{path}: is empty; give a file of word vectors")
            return _Mapped(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: the gzip file is damaged or cut off ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


class _Mapped:
    """A memory-mapped file with the few methods of bytes that are used here."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped = mapped

    def __len__(self) -> int:
        return len(self._mapped)

    def __getitem__(self, place: slice) -> bytes:
        return self._mapped[place]

    def find(self, part: bytes, start: int, end: int | None = None) -> int:
        """Like `bytes.find`."""
        return self._mapped.find(part, start, len(self) if end is None else end)


def _is_text(beginning: bytes) -> bool:
    """Whether this looks like text: UTF-8 without control characters."""
    if any(byte < 32 and byte not in b"\t\n\r" for byte in beginning):
        return False
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3  # a character that is cut in half
    return True


def _are_numbers(columns: Iterable[bytes]) -> bool:
    try:
        return all(float(column) is not None for column in columns)
    except ValueError:
        return False


def write(run: Any, path: Path) -> Exported:
    """Write the word vectors of a run (`elman export RUN --to vectors FILE`)."""
    words, table = run.words, run.table
    write_word_vectors(path, words, table)
    size = table.shape[1]
    return Exported(
        f"{len(words):,} words, {size} numbers each", {"words": len(words), "size": size}
    )


def write_word_vectors(path: Path, words: Sequence[str], vectors: np.ndarray) -> None:
    """Write the text format of word2vec, atomically."""
    try:
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
            for word, vector in zip(words, vectors, strict=True):
                file.write(f"{word} {' '.join(f'{value:.7g}' for value in vector)}\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
