"""Get a public corpus: download its files, verify them, unpack them into a folder.

Takes a name of the table (`text/public_corpora.toml`) and a folder, gives the files with their
SHA-256; called by `elman data get`. The hashes that the table does not know are recorded at the
first download in `.download.json`, and checked from then on. Every file is complete or absent.

    .download.json   address, date, size and SHA-256 of every download and of what was unpacked
    README.md        what the corpus is, from where, and its licence
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from elman.atomic import replacing
from elman.errors import InputError
from elman.runs.lock import take_lock
from elman.text.downloads import Download, download, sha256_of
from elman.text.public_corpora import PublicCorpus, PublicFile, public_corpus

Told = Callable[[str], None]
_RECORD, _README, _UNPACKED = ".download.json", "README.md", ".unpacked"
_LARGEST_RATIO = 200  # of an unpacked file to its packed size; text never shrinks that much
_PIECE = 1 << 20
# Of an archive: a member is missing, bytes are damaged or missing, it is encrypted.
_DAMAGES = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)


@dataclass(frozen=True)
class FetchedFile:
    """A file of a corpus in the folder."""

    name: str
    size: int
    sha256: str
    source: str  # downloaded, or already there


@dataclass(frozen=True)
class FetchedCorpus:
    """A corpus in its folder."""

    corpus: PublicCorpus
    folder: Path
    files: list[FetchedFile]

    @property
    def next(self) -> str:
        """A command that uses the folder."""
        return self.corpus.next.replace("{folder}", str(self.folder))

    def to_data(self) -> dict[str, Any]:
        return {
            "name": self.corpus.name,
            "folder": str(self.folder),
            "licence": self.corpus.licence,
            "files": [vars(file) for file in self.files],
            "next": self.next,
        }


def get_corpus(name: str, folder: Path, told: Told) -> FetchedCorpus:
    """Download a corpus into a folder; what is there already is verified."""
    corpus = public_corpus(name)
    with _only_one(folder):
        record = _Record(folder)
        found = [file for one in corpus.files for file in _get(corpus, one, folder, record, told)]
        _write_readme(corpus, folder)
    return FetchedCorpus(corpus, folder, found)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """The folder, made if needed; no other process downloads into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = take_lock(folder / ".lock")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose --out") from None
    if lock is None:
        raise InputError(f"{folder}: another process downloads into it; wait for it")
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):
            folder.rmdir()  # if nothing has arrived


class _Record:
    """The hashes of earlier downloads into a folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _RECORD
        try:
            self._known: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            self.of_files = {k: v for one in self._known.values() for k, v in one["files"].items()}
        except FileNotFoundError:
            self._known, self.of_files = {}, {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                f"{self._path}: is damaged; delete it to record the hashes again"
            ) from None

    def of_download(self, name: str) -> str | None:
        """The SHA-256 of a download as it was the first time."""
        return self._known.get(name, {}).get("sha256")

    def add(self, name: str, address: str, sha256: str, files: dict[str, str]) -> None:
        """Record a download and the files that were made from it."""
        entry = {"address": address, "date": date.today().isoformat(), "sha256": sha256}
        self._known[name] = entry | {"files": files}
        self.of_files |= files
        with replacing(self._path) as path:
            path.write_text(json.dumps(self._known, indent=1), encoding="utf-8")


def _get(
    corpus: PublicCorpus, file: PublicFile, folder: Path, record: _Record, told: Told
) -> list[FetchedFile]:
    """The files that one download makes."""
    results = file.results()
    there = {name: _verified(folder / name, file, record, told) for name in results}
    source = "already there"
    if not all(there.values()):
        _download(corpus, file, folder, record, told)
        source = "downloaded"
    return [
        FetchedFile(
            name, (folder / name).stat().st_size, there[name] or record.of_files[name], source
        )
        for name in results
    ]


def _verified(path: Path, file: PublicFile, record: _Record, told: Told) -> str | None:
    """The hash of a file that is there and as it should be; None if it is not there."""
    if not path.exists():
        return None
    expected = record.of_files.get(path.name) or (file.sha256 if path.name == file.name else None)
    if expected is None:
        raise InputError(
            f"{path}: is not from elman data get; choose another folder with --out, or move it away"
        )
    told(f"checking {path.name}")
    if sha256_of(path) != expected:
        raise InputError(
            f"{path}: has changed since it was published or downloaded (its SHA-256 differs); "
            "delete it to download it again"
        )
    return expected


def _download(
    corpus: PublicCorpus, file: PublicFile, folder: Path, record: _Record, told: Told
) -> None:
    """Download and unpack; hashes are recorded first, so that every file in the folder has one."""
    wanted = Download(corpus.address(file), folder / file.name, file.bound)
    expected = file.sha256 or record.of_download(file.name)
    try:
        found = download(wanted, expected, told)
    except InputError as error:
        if file.sha256 or not expected or expected not in str(error):
            raise
        raise InputError(
            f"{error}; the publisher may have changed it since your first download. To accept the "
            f"new file, delete {folder / _RECORD}"
        ) from None
    if not file.members:
        record.add(file.name, wanted.address, found, {file.name: found})
        wanted.keep()
        return
    told(f"unpacking {file.name}")
    inside = folder / _UNPACKED
    shutil.rmtree(inside, ignore_errors=True)
    try:
        _unpack(wanted.part, file, inside)
        unpacked = {name: sha256_of(inside / name) for name in file.results()}
        record.add(file.name, wanted.address, found, unpacked)
        for name in unpacked:
            (inside / name).replace(folder / name)
    finally:
        shutil.rmtree(inside, ignore_errors=True)
        wanted.forget()


# Archives -----------------------------------------------------------------------------------------


def _unpack(path: Path, file: PublicFile, folder: Path) -> None:
    """Write the members that the table names; names inside the archive are never used as paths."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(path) as archive:
            for member, name in file.members.items():
                info = archive.getinfo(member)
                if info.file_size > _LARGEST_RATIO * max(info.compress_size, 1):
                    raise InputError(
                        f"{file.name}: {member} unpacks to {info.file_size:,} bytes from "
                        f"{info.compress_size:,}; text never shrinks that much"
                    )
                with archive.open(info) as stream:
                    _write_parts(io.BufferedReader(stream), file.parts or {name: 0}, folder)
    except _DAMAGES as error:
        raise InputError(
            f"{file.name}: is not the archive that was expected ({error}); nothing was kept"
        ) from None


def _write_parts(stream: Any, parts: dict[str, int], folder: Path) -> None:
    """Write a stream into files of so many bytes; the last one takes the rest."""
    last = [*parts][-1]
    for name, size in parts.items():
        with replacing(folder / name) as temporary, temporary.open("wb") as file:
            if name == last:
                shutil.copyfileobj(stream, file, _PIECE)
            else:
                _copy(stream, file, size)


def _copy(stream: Any, file: BinaryIO, size: int) -> None:
    """Copy so many bytes, and the rest of a character that would be cut in two."""
    left = size
    while left and (piece := stream.read(min(left, _PIECE))):
        file.write(piece)
        left -= len(piece)
    while (following := stream.peek(1)[:1]) and following[0] & 0xC0 == 0x80:
        file.write(stream.read(1))


def _write_readme(corpus: PublicCorpus, folder: Path) -> None:
    if (folder / _README).exists():
        return
    addresses = "".join(f"- {corpus.address(file)}\n" for file in corpus.files[:10])
    more = f"- and {len(corpus.files) - 10} more files there\n" if len(corpus.files) > 10 else ""
    text = (
        f"# {corpus.name}\n\n{corpus.about}.\n\n- Content: {corpus.kind}\n"
        f"- Licence: {corpus.licence}\n- Use: `{corpus.next.replace('{folder}', str(folder))}`\n\n"
        f"Downloaded by `elman data get {corpus.name}` from:\n\n{addresses}{more}"
    )
    with replacing(folder / _README) as path:
        path.write_text(text, encoding="utf-8")
