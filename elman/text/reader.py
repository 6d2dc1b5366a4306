"""Read text files: decode, count, and report everything unexpected.

Takes a path, gives a `Document`: the text with `\\n` line ends, and notes about all changes.
Other files are refused; the message names file, line, reason and remedy. `decoded` does the same
block by block, for texts that are larger than memory (`streamed.py`).
"""

from __future__ import annotations

import hashlib
import io
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO

from elman.errors import InputError
from elman.text import files

_FOREIGN = {  # first bytes: what such a file is, and what to do
    b"PK\x03\x04": "a ZIP archive, or a document like .docx; unpack it or save it as text",
    b"%PDF-": "a PDF document; convert it to text first, for example with pdftotext",
    b"\xd0\xcf\x11\xe0": "a document of an old Office program; save it as text",
}
_PARQUET = b"PAR1"  # the first bytes of a Parquet file
# The first bytes of compressed files.
_COMPRESSED = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK = 1 << 20  # bytes that are decoded at a time, then the rest of the line
_LONGEST_LINE = 1 << 28  # bytes; a block holds whole lines
_NOTHING_PIPED = "there is no text on standard input; pipe some in"
_LARGEST_WHOLE = 1 << 32  # bytes of a file that is read whole


class Document:
    """A text, its name, and notes about how it was read."""

    is_large = False  # whether `text` may be too much for memory; then use `blocks`
    has_known_columns = False  # whether it was made with the columns text and label

    def __init__(self, name: str, text: str, notes: list[str] | None = None) -> None:
        self.name = name
        self._text = text
        self._notes = [] if notes is None else notes

    @property
    def notes(self) -> list[str]:
        """What was changed while the text was read; others may add to it."""
        return self._notes

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    def blocks(self) -> Iterator[str]:
        """The text in pieces of whole lines."""
        yield self.text

    def beginning(self, characters: int) -> str:
        """The first characters of the text."""
        return self.text[:characters]

    @cached_property
    def survey(self) -> Survey:
        """The size of the text and its hash."""
        survey = Survey()
        for block in self.blocks():
            survey.add(block)
        return survey

    @property
    def lines(self) -> int:
        """The number of lines, including a last line without a newline."""
        return self.survey.lines

    @property
    def empty_lines(self) -> int:
        """The number of empty lines; each still counts as one line end."""
        return self.survey.empty_lines

    @property
    def size(self) -> int:
        """The size of the text in UTF-8."""
        return self.survey.size

    def count_words(self) -> int:
        """The number of strings between white space."""
        return sum(len(line.split()) for block in self.blocks() for line in block.split("\n"))

    def sha256(self) -> str:
        """The hash of the text as it was read."""
        return self.survey.sha256()


class Survey:
    """The size and hash of a text that comes in blocks of whole lines."""

    def __init__(self) -> None:
        self.size = self._ends = self.empty_lines = 0
        self._unended = True  # an empty text is one line without an end
        self._hash = hashlib.sha256()

    def add(self, block: str) -> None:
        """Count a block."""
        if not block:
            return
        data = block.encode("utf-8", "surrogatepass")
        self._hash.update(data)
        self.size += len(data)
        self._ends += block.count("\n")
        self.empty_lines += block.startswith("\n") + _overlapping_ends(block)
        self._unended = not block.endswith("\n")

    @property
    def lines(self) -> int:
        return self._ends + self._unended

    def sha256(self) -> str:
        return self._hash.hexdigest()


def _is_text(data: bytes) -> bool:
    """Whether bytes are text that only begins like a compressed file."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _overlapping_ends(block: str) -> int:
    """The number of newlines right after a newline."""
    return block.split("\n")[1:-1].count("") if "\n\n" in block else 0


@contextmanager
def named(document: Document) -> Iterator[None]:
    """Add the name of the document to errors about its text."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{document.name}, {error}") from None


def read_document(path: str | os.PathLike[str]) -> Document:
    """The text of a file, plain or compressed, UTF-8."""
    location = os.fspath(path)
    if location == files.STANDARD_INPUT:
        return read_standard_input()
    with files.opened(location) as stream:
        return _whole(location, stream, f"{location}: contains no text; give a file with text")


def read_standard_input(data: bytes | None = None) -> Document:
    """The text from standard input, or from these bytes."""
    if data is not None:
        return _whole("-", io.BytesIO(data), _NOTHING_PIPED)
    with files.opened(files.STANDARD_INPUT) as stream:
        return _whole("-", stream, _NOTHING_PIPED)


def _whole(name: str, stream: BinaryIO, if_empty: str) -> Document:
    reading = Reading(name)
    blocks = []
    for block in reading.blocks(stream):
        blocks.append(block)
        if reading.size > _LARGEST_WHOLE:
            raise InputError(f"{name}: has more than 4 GB of text; give a smaller file")
    if not reading.has_text:
        raise InputError(if_empty)
    return Document(name, "".join(blocks), reading.notes())


@dataclass
class Reading:
    """Decodes one file, and counts what was changed."""

    name: str
    size: int = 0  # bytes so far
    lines: int = 0  # line ends so far
    has_text: bool = False
    _marked: bool = field(default=False, repr=False)
    _windows: int = field(default=0, repr=False)
    _old_mac: int = field(default=0, repr=False)
    _alone: int = field(default=0, repr=False)

    def blocks(self, stream: BinaryIO) -> Iterator[str]:
        """The text of a stream in blocks of whole lines."""
        first = True
        while data := self._read_lines(stream):
            if first:
                data = self._without_mark(data)
                first = False
            text = self._decode(data)
            if not self.size and "\n" not in text:  # the first block ends with a line or the file
                self._old_mac = text.count("\r")
                text = text.replace("\r", "\n")
            self.lines += text.count("\n")
            self.size += len(data)
            self.has_text = self.has_text or bool(text.strip())
            if text:
                yield self._unify_line_ends(text)

    def notes(self) -> list[str]:
        """What was changed, in sentences."""
        notes = ["the byte order mark at the start was removed"] * self._marked
        if self._windows:
            notes.append(f"{self._windows:,} Windows line ends (CR LF) were read as line ends")
        if self._old_mac:
            notes.append(f"{self._old_mac:,} old Mac line ends (CR) were read as line ends")
        if self._alone:
            notes.append(f"{self._alone:,} carriage returns inside lines were kept")
        return notes

    def _read_lines(self, stream: BinaryIO) -> bytes:
        data = stream.read(_BLOCK)
        if len(data) < _BLOCK or data.endswith(b"\n"):
            return data
        rest = stream.readline(_LONGEST_LINE)
        if len(rest) == _LONGEST_LINE:
            line = self.lines + data.count(b"\n") + 1
            raise InputError(
                f"{self.name}, line {line}: is longer than {_LONGEST_LINE >> 20} MB; break the "
                "text into lines"
            )
        return data + rest

    def _without_mark(self, data: bytes) -> bytes:
        if data.startswith(_PARQUET):
            raise InputError(
                f"{self.name}: is a Parquet file, not text; as --data, it needs the ending .parquet"
            )
        for first, what in _FOREIGN.items():
            if data.startswith(first):
                raise InputError(f"{self.name}: is {what}")
        for first, ending in _COMPRESSED.items():
            if data.startswith(first) and not _is_text(data):
                raise InputError(
                    f"{self.name}: is compressed; give it the ending {ending}, or decompress it "
                    "and pipe it into -"
                )
        self._marked = data.startswith(_BYTE_ORDER_MARK)
        return data.removeprefix(_BYTE_ORDER_MARK)

    def _decode(self, data: bytes) -> str:
        place = data.find(b"\0")
        if place >= 0:
            raise InputError(
                f"{self.name}, line {self._line(data, place)}: has a NUL byte, so it is binary or "
                f"UTF-16; convert UTF-16 with: {_conversion('UTF-16', self.name)}"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name}, line {self._line(data, error.start)}: byte "
                f"0x{data[error.start]:02X} is not UTF-8; if it is Windows-1252 or Latin-1, "
                f"convert it with: {_conversion('WINDOWS-1252', self.name)}"
            ) from None

    def _line(self, data: bytes, place: int) -> int:
        return self.lines + data.count(b"\n", 0, place) + 1

    def _unify_line_ends(self, text: str) -> str:
        if "\r" not in text:
            return text
        self._windows += text.count("\r\n")
        text = text.replace("\r\n", "\n")
        self._alone += text.count("\r")
        return text


def _conversion(encoding: str, name: str) -> str:
    """The command that converts a file to UTF-8."""
    return f"iconv -f {encoding} -t UTF-8 {shlex.quote(name)} > NEW"
