"""Downloads: resumed, bounded, verified; complete or absent, whatever the server does."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer, serving

from elman.errors import ElmanError, InputError
from elman.text import downloads
from elman.text.downloads import Download, check_address, download

DATA = random.Random(0).randbytes(300_000)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setattr(downloads, "_PAUSE", 0.0)
    with serving() as found:
        found.files["/a.txt"] = DATA
        yield found


def fetch(server: FileServer, folder: Path, path: str = "/a.txt", **given: object) -> str:
    options = {"expected": SHA256, "largest": 10**6} | given
    wanted = Download(f"{server.address}{path}", folder / "a.txt", options["largest"])  # type: ignore[arg-type]
    found = download(wanted, options["expected"], lambda what: None)  # type: ignore[arg-type]
    wanted.keep()
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file(server: FileServer, tmp_path: Path) -> None:
    assert fetch(server, tmp_path) == SHA256
    assert (tmp_path / "a.txt").read_bytes() == DATA
    assert names(tmp_path) == ["a.txt"]
    assert fetch(server, tmp_path, expected=None) == SHA256


def test_a_cut_connection_is_resumed_at_once(server: FileServer, tmp_path: Path) -> None:
    server.cut_after = [100_000, 50_000]
    assert fetch(server, tmp_path) == SHA256
    assert [asked for _, asked in server.asked] == [None, "bytes=100000-", "bytes=150000-"]


def test_the_next_call_continues(server: FileServer, tmp_path: Path) -> None:
    server.cut_after = [100_000, 50_000, 7]
    with pytest.raises(ElmanError, match="150,007 bytes are kept, so the same command continues"):
        fetch(server, tmp_path)
    assert names(tmp_path) == [".a.txt.part", ".a.txt.part.json"]
    assert fetch(server, tmp_path) == SHA256
    assert server.asked[-1] == ("/a.txt", "bytes=150007-")
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("how", ["range ignored", "changed file", "no tag", "weak tag"])
def test_what_cannot_be_continued_starts_again(
    how: str, server: FileServer, tmp_path: Path
) -> None:
    server.tag = {"no tag": None, "weak tag": 'W/"one"'}.get(how, '"one"')
    server.cut_after = [90_000] * 3
    server.ignores_ranges = how == "range ignored"
    with pytest.raises(ElmanError):
        fetch(server, tmp_path, expected=None)
    changed = DATA[::-1] if how == "changed file" else DATA
    server.files["/a.txt"] = changed
    if how == "changed file":
        server.tag = '"two"'
    fetch(server, tmp_path, expected=None)
    assert (tmp_path / "a.txt").read_bytes() == changed


def test_more_is_here_than_there(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".a.txt.part").write_bytes(DATA + b"more")
    (tmp_path / ".a.txt.part.json").write_text('{"etag": "\\"one\\""}')
    assert fetch(server, tmp_path) == SHA256


def test_a_damaged_part_is_found_by_the_hash(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".a.txt.part").write_bytes(b"x" * 1000)
    (tmp_path / ".a.txt.part.json").write_text('{"etag": "\\"one\\""}')
    with pytest.raises(InputError, match=f"instead of {SHA256}"):
        fetch(server, tmp_path)
    assert names(tmp_path) == []
    assert fetch(server, tmp_path) == SHA256


def test_a_wrong_hash(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"has the SHA-256 {SHA256} instead of {'0' * 64}"):
        fetch(server, tmp_path, expected="0" * 64)
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_refusals_are_final(status: int, server: FileServer, tmp_path: Path) -> None:
    server.statuses["/a.txt"] = status
    with pytest.raises(InputError, match=rf"\(status {status}\).*ELMAN_DATA_URL"):
        fetch(server, tmp_path)
    assert len(server.asked) == 1
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failures_are_tried_again(status: int, server: FileServer, tmp_path: Path) -> None:
    server.statuses["/a.txt"] = status
    with pytest.raises(ElmanError, match="3 attempts.*try again later"):
        fetch(server, tmp_path)
    assert len(server.asked) == 3


def test_sizes_are_bounded(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 300,000 bytes, more than the 299,999"):
        fetch(server, tmp_path, largest=299_999)
    assert names(tmp_path) == []
    server.says_length = False
    with pytest.raises(InputError, match="does not say how large"):
        fetch(server, tmp_path)


def test_less_than_announced(server: FileServer, tmp_path: Path) -> None:
    server.announced, server.ignores_ranges = 400_000, True
    with pytest.raises(ElmanError, match="ended after 300,000 of 400,000 bytes"):
        fetch(server, tmp_path, expected=None)
    assert "a.txt" not in names(tmp_path)


def test_redirects(server: FileServer, tmp_path: Path) -> None:
    server.redirects["/moved"] = "/a.txt"
    assert fetch(server, tmp_path, "/moved") == SHA256
    server.redirects["/circle"] = "/circle"
    server.redirects["/file"] = "file:///etc/passwd"
    server.redirects["/ftp"] = "ftp://127.0.0.1/a.txt"
    for path in ("/circle", "/file", "/ftp"):
        with pytest.raises(InputError, match="redirects too often or to|is not an address of http"):
            fetch(server, tmp_path, path)


def test_addresses() -> None:
    for address in ("file:///etc/passwd", "ftp://a/b", "/etc/passwd", "", "data:,x"):
        with pytest.raises(InputError, match="is not an address of http or https"):
            check_address(address)
    with pytest.raises(InputError, match="from https to http"):
        check_address("http://a/b", secure=True)
    check_address("HTTPS://a/b", secure=True)


def test_a_silent_server(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_TIMEOUT", 0.2)
    server.pause = 30.0
    began = time.monotonic()
    with pytest.raises(ElmanError, match=r"no answer within 0.2 seconds|the connection broke"):
        fetch(server, tmp_path)
    assert time.monotonic() - began < 10


def test_a_crawling_server(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte at a time never runs into the timeout, but the file would take days."""
    monkeypatch.setattr(downloads, "_WINDOW", 0.3)
    monkeypatch.setattr(downloads, "_ATTEMPTS", 1)
    server.pause = 0.01  # a hundred bytes per second
    began = time.monotonic()
    with pytest.raises(ElmanError, match="the server is too slow"):
        fetch(server, tmp_path)
    assert time.monotonic() - began < 10


def test_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_PAUSE", 0.0)
    wanted = Download("http://127.0.0.1:9/a.txt", tmp_path / "a.txt", 10)
    with pytest.raises(ElmanError, match=r"cannot be reached .*try again later"):
        download(wanted, None, lambda what: None)
