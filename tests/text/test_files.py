"""Files wherever they are: compressed, cut off, too good to be true, not files at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.text import files
from elman.text.reader import read_document

TEXT = "the cat sees a dog\n\nété\n" * 50


def zstandard(data: bytes) -> bytes:
    library = pytest.importorskip("zstandard", reason="needs zstandard")
    return bytes(library.ZstdCompressor().compress(data))


PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard,
}


@pytest.mark.parametrize("ending", PACK)
def test_a_compressed_file_is_the_same_text(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(PACK[ending](TEXT.encode()))
    assert read_document(path).text == TEXT


@pytest.mark.parametrize("ending", PACK)
def test_several_compressed_parts_are_one_text(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(PACK[ending](b"one\n") + PACK[ending](b"two\n"))
    assert read_document(path).text == "one\ntwo\n"


@pytest.mark.parametrize("ending", PACK)
def test_a_file_that_was_cut_off_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"text.txt{ending}"
    data = PACK[ending](os.urandom(3000).hex().encode())
    for kept in (len(data) - 3, len(data) // 2, 5):
        path.write_bytes(data[:kept])
        with pytest.raises(InputError, match=r"text\.txt\..*: ends in .* but is not a complete"):
            read_document(path)


@pytest.mark.parametrize("ending", PACK)
def test_a_bomb_is_refused_early(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_ALWAYS_FINE", 1_000_000)
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(PACK[ending](b"a" * 50_000_000))
    with pytest.raises(InputError, match=r"text never shrinks that much"):
        read_document(path)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is not a regular file; to read from a pipe, give -"):
            read_document(path)


def test_addresses_are_read_through_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec")
    memory = fsspec.filesystem("memory")
    for number in (2, 1):
        memory.pipe(f"/texts/part{number}.txt.gz", gzip.compress(f"part {number}\n".encode()))
    assert read_document("memory://texts/part1.txt.gz").text == "part 1\n"
    found = files.expand("memory://texts/*.gz")
    assert [read_document(one).text for one in found] == ["part 1\n", "part 2\n"]
    with pytest.raises(InputError, match="no such file"):
        read_document("memory://texts/part3.txt")
    with pytest.raises(InputError, match="cannot be opened"):
        read_document("nowhere://x.txt")


def test_a_glob_is_sorted_and_a_real_name_is_no_glob(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "x[1].txt"):
        (tmp_path / name).write_text(name)
    found = files.expand(str(tmp_path / "?.txt"))
    assert [Path(one).name for one in found] == ["a.txt", "b.txt"]
    assert files.expand(str(tmp_path / "x[1].txt")) == []
