"""Read text files: decode, count, and report everything unexpected.

Takes a path, gives a `Document`: the text with `\\n` line ends, and notes about all changes.
Other files are refused; the message names file, line, reason and remedy.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from elman.errors import InputError

_PARQUET = b"PAR1"  # at both ends of a Parquet file
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class Document:
    """A text, its name, and notes about how it was read."""

    name: str
    text: str
    notes: list[str] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """The number of lines, including a last line without a newline."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    @property
    def empty_lines(self) -> int:
        """The number of empty lines; each still counts as one line end."""
        return self.text.split("\n")[:-1].count("")

    def sha256(self) -> str:
        """The hash of the text as it was read."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def named(document: Document) -> Iterator[None]:
    """Add the name of the document to errors about its text."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{document.name}, {error}") from None


def read_document(path: str | os.PathLike[str]) -> Document:
    """The text of a file, plain or gzip, UTF-8."""
    path = Path(path)
    data = _read_bytes(path)
    if path.suffix == ".gz":
        data = _decompress(path, data)
    return _document(str(path), data, f"{path}: contains no text; give a file with text")


def read_standard_input(data: bytes) -> Document:
    """The text from standard input."""
    return _document("-", data, "there is no text on standard input; pipe some in")


def _document(name: str, data: bytes, if_empty: str) -> Document:
    notes = []
    if data.startswith(_BYTE_ORDER_MARK):
        data = data[len(_BYTE_ORDER_MARK) :]
        notes.append("the byte order mark at the start was removed")
    text = _decode(name, data)
    if not text.strip():
        raise InputError(if_empty)
    return Document(name, _unify_line_ends(text, notes), notes)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; give a file") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except PermissionError:
        raise InputError(f"{path}: permission denied; try chmod u+r {path}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _decompress(path: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}: ends in .gz but is not a complete gzip file ({error}); "
            "rename it if it is plain text, or download it again"
        ) from None


def _decode(name: str, data: bytes) -> str:
    if data.startswith(_PARQUET) and data.endswith(_PARQUET):
        raise InputError(
            f"{name}: Parquet files are not supported; convert it to JSON lines "
            "first, for example with pandas: read_parquet(…).to_json(…, orient='records', "
            "lines=True)"
        )
    place = data.find(b"\0")
    if place >= 0:
        line = data.count(b"\n", 0, place) + 1
        raise InputError(
            f"{name}, line {line}: has a NUL byte, so it is binary or "
            f"UTF-16; convert UTF-16 with: iconv -f UTF-16 -t UTF-8 {name}"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: byte 0x{data[error.start]:02X} is not UTF-8; "
            f"if it is Latin-1, convert it with: iconv -f LATIN1 -t UTF-8 {name}"
        ) from None


def _unify_line_ends(text: str, notes: list[str]) -> str:
    if "\r" not in text:
        return text
    windows = text.count("\r\n")
    text = text.replace("\r\n", "\n")
    if windows:
        notes.append(f"{windows:,} Windows line ends (CR LF) were read as line ends")
    if alone := text.count("\r"):
        notes.append(f"{alone:,} carriage returns inside lines were kept")
    return text
