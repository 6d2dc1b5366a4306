"""Reading files: changes are noted, unreadable files are refused with a remedy."""

from __future__ import annotations

import gzip
import os
import re
import time
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.text.reader import Document, read_document, read_standard_input


def write(folder: Path, data: bytes, name: str = "text.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_plain_file_comes_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, "é\n\n  漢 \n".encode())
    document = read_document(path)
    assert (document.name, document.text) == (str(path), "é\n\n  漢 \n")
    assert document.notes == []


@pytest.mark.parametrize(("text", "lines"), [("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\na\n\n", 4)])
def test_lines_are_counted_with_the_empty_ones(text: str, lines: int) -> None:
    assert Document("", text).lines == lines


def test_windows_line_ends_are_unified_and_noted(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, b"a\r\n\r\nb\n"))
    assert document.text == "a\n\nb\n"
    assert document.notes == ["2 Windows line ends (CR LF) were read as line ends"]


def test_lone_carriage_returns_are_kept_and_noted(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, b"a\rb\r\n"))
    assert document.text == "a\rb\n"
    assert len(document.notes) == 2
    assert document.notes[1] == "1 carriage returns inside lines were kept"


def test_old_mac_line_ends_are_read_where_there_are_no_others(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, b"\xef\xbb\xbfa\r\rb\r"))
    assert document.text == "a\n\nb\n"
    assert document.notes[1:] == ["3 old Mac line ends (CR) were read as line ends"]


def test_a_byte_order_mark_is_left_out_and_noted(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, b"\xef\xbb\xbfa\n"))
    assert document.text == "a\n"
    assert document.notes == ["the byte order mark at the start was removed"]


def test_the_hash_is_that_of_the_text_as_read(tmp_path: Path) -> None:
    unix, windows = write(tmp_path, b"a\n"), write(tmp_path, b"a\r\n", "windows.txt")
    assert read_document(unix).sha256() == read_document(windows).sha256()


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"a\n"), "text.txt.gz")
    assert read_document(path).text == "a\n"


WHOLE_GZIP = gzip.compress(b"some text to pack\n" * 100)

REFUSED: dict[str, tuple[str, bytes, str]] = {
    "latin-1": ("f.txt", b"a\nb\nc\xe9\n", r"f\.txt, line 3: byte 0xE9 .*iconv -f WINDOWS-1252"),
    "a name with a space": ("a b.txt", b"c\xe9\n", r"-t UTF-8 '.*/a b\.txt' > NEW"),
    "cut within a character": ("f.txt", b"a\n\xe6\xbc", r"f\.txt, line 2: byte 0xE6"),
    "surrogate in UTF-8": ("f.txt", b"\xed\xa0\x80", r"f\.txt, line 1: byte 0xED"),
    "UTF-16": ("f.txt", "a\nb".encode("utf-16-le"), r"f\.txt, line 1: .*NUL.*iconv -f UTF-16"),
    "NUL": ("f.txt", b"a\nb\0\n", r"f\.txt, line 2: .*NUL"),
    "nothing": ("f.txt", b"", r"f\.txt: contains no text"),
    "white space": ("f.txt", b" \n\t\r\n", r"f\.txt: contains no text"),
    "blank beyond ASCII": ("f.txt", "\xa0\u2028\n".encode(), r"f\.txt: contains no text"),
    "byte order mark alone": ("f.txt", b"\xef\xbb\xbf", r"f\.txt: contains no text"),
    "not a gzip": ("f.txt.gz", b"plain text\n", r"f\.txt\.gz: .*not a complete gzip file"),
    "empty gzip": ("f.txt.gz", gzip.compress(b""), r"f\.txt\.gz: contains no text"),
    "cut gzip": ("f.txt.gz", WHOLE_GZIP[:-12], r"f\.txt\.gz: .*not a complete gzip file"),
    "cut gzip header": ("f.txt.gz", WHOLE_GZIP[:5], r"f\.txt\.gz: .*not a complete gzip file"),
    "damaged gzip": (
        "f.txt.gz",
        WHOLE_GZIP[:15] + b"\xff\xff" + WHOLE_GZIP[17:],
        r"f\.txt\.gz: .*not a complete gzip file",
    ),
}


@pytest.mark.parametrize(("name", "data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_text_is_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_document(write(tmp_path, data, name))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}: is a folder"):
        read_document(tmp_path)


@pytest.mark.parametrize(
    ("name", "reason"), [("missing.txt", "no such file"), ("x" * 300, "cannot be read .*too long")]
)
def test_a_file_that_is_not_there(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"{name}: {reason}"):
        read_document(tmp_path / name)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:  # chmod does not stop root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=r"text\.txt: permission denied.*chmod"):
        read_document(tmp_path / "text.txt")


def test_standard_input_is_read_like_a_file() -> None:
    document = read_standard_input(b"\xef\xbb\xbfa\r\n")
    assert (document.name, document.text) == ("-", "a\n")
    assert len(document.notes) == 2
    with pytest.raises(InputError, match="there is no text on standard input"):
        read_standard_input(b" \n")
    with pytest.raises(InputError, match="-, line 2: byte 0xFF"):
        read_standard_input(b"a\n\xff")


def test_one_line_of_100_megabytes_is_read_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, b"all on one line " * (100_000_000 // 16))
    started = time.monotonic()
    document = read_document(path)
    assert time.monotonic() - started < 5
    assert len(document.text) == 100_000_000
    assert document.lines == 1


@pytest.mark.parametrize(
    ("beginning", "message"),
    [
        (b"PK\x03\x04\x14\0\0\0word/document.xml", "is a ZIP archive, or a document like .docx"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF document; convert it to text first"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is a document of an old Office program"),
    ],
)
def test_documents_and_archives_are_named_as_such(
    tmp_path: Path, beginning: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_document(write(tmp_path, beginning))


def test_a_parquet_file_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    path.write_bytes(b"PAR1\x15\x04\x00\x00PAR1")
    with pytest.raises(InputError, match="is a Parquet file, not text"):
        read_document(path)
