"""Public corpora: the table, and getting one from a server."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from file_server import FileServer, serving

from elman.cli import get as get_command
from elman.cli import run as elman
from elman.errors import InputError
from elman.tasks.data_get import get_corpus
from elman.text import downloads, public_corpora
from elman.text.public_corpora import PublicCorpus, PublicFile
from elman.text.public_corpora import public_corpora as table

TRAIN, VALID = b"one two\n" * 100, b"three\n" * 10


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def corpus_of(*files: PublicFile) -> PublicCorpus:
    return PublicCorpus(
        "toy", "a toy", "running text", "CC0", "http://none/", "use {folder}", files
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setattr(downloads, "_PAUSE", 0.0)
    with serving() as found:
        monkeypatch.setenv("ELMAN_DATA_URL", f"{found.address}/")
        found.files |= {"/toy/train.txt": TRAIN, "/toy/valid.txt": VALID}
        yield found


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def put(*files: PublicFile) -> None:
        monkeypatch.setattr(public_corpora, "public_corpora", lambda: {"toy": corpus_of(*files)})

    put(
        PublicFile("train.txt", len(TRAIN), sha256(TRAIN)),
        PublicFile("valid.txt", largest=1000),
    )
    return put


def get(folder: Path) -> list[str]:
    return [file.source for file in get_corpus("toy", folder, lambda what: None).files]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The table ----------------------------------------------------------------------------------------


def test_the_table_is_complete() -> None:
    wanted = ("ptb", "wikitext-2", "wikitext-103", "ud-english-ewt", "multi30k", "sst", "blimp")
    assert {*wanted, "text8", "enwik8", "tatoeba-english"} <= {*table()}
    for name, corpus in table().items():
        assert all([corpus.about, corpus.kind, corpus.licence]), name
        assert "{folder}" in corpus.next
        assert corpus.base.startswith("https://")
        assert corpus.base.endswith("/")
        for file in corpus.files:
            assert 0 < file.bound <= 300_000_000
            assert file.sha256 is None or len(file.sha256) == 64
            for result in (file.name, *file.results()):
                assert Path(result).name == result
                assert not result.startswith((".", "README"))
            assert not file.parts or len(file.members) == 1


@pytest.mark.parametrize("name", [name for name, one in table().items() if one.verified])
def test_hashes_are_those_of_the_files_that_we_hold(name: str, corpus: Any) -> None:
    folder = corpus(name)
    renamed = {f"{split}.txt": f"wiki.{split}.tokens" for split in ("train", "valid", "test")}
    places = {path.name: path for path in folder.rglob("*") if path.is_file()}
    for file in table()[name].files:
        place = places.get(file.name) or places.get(renamed.get(file.name, ""))
        data = (
            place.read_bytes() if place else gzip.decompress(places[f"{file.name}.gz"].read_bytes())
        )
        assert (sha256(data), len(data)) == (file.sha256, file.size)


# Getting ------------------------------------------------------------------------------------------


def test_a_corpus(server: FileServer, known: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "toy"
    assert get(folder) == ["downloaded", "downloaded"]
    assert (folder / "train.txt").read_bytes() == TRAIN
    assert names(folder) == [".download.json", "README.md", "train.txt", "valid.txt"]
    record = json.loads((folder / ".download.json").read_text())
    assert record["valid.txt"]["sha256"] == sha256(VALID)
    assert record["valid.txt"]["address"] == f"{server.address}/toy/valid.txt"
    assert "CC0" in (folder / "README.md").read_text()
    asked = len(server.asked)
    assert get(folder) == ["already there", "already there"]
    assert len(server.asked) == asked


def test_what_is_missing_is_downloaded_again(
    server: FileServer, known: Any, tmp_path: Path
) -> None:
    get(tmp_path)
    (tmp_path / "valid.txt").unlink()
    assert get(tmp_path) == ["already there", "downloaded"]


def test_a_publisher_who_changes_a_file(server: FileServer, known: Any, tmp_path: Path) -> None:
    get(tmp_path)
    (tmp_path / "valid.txt").unlink()
    server.files["/toy/valid.txt"] = b"another\n"
    with pytest.raises(InputError, match=r"since your first download.*delete .*\.download\.json"):
        get(tmp_path)
    assert "valid.txt" not in names(tmp_path)
    (tmp_path / ".download.json").unlink()
    assert get(tmp_path) == ["already there", "downloaded"]


def test_a_changed_file_is_reported(server: FileServer, known: Any, tmp_path: Path) -> None:
    get(tmp_path)
    for name in ("train.txt", "valid.txt"):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"x")
        with pytest.raises(InputError, match=f"{name}: has changed .*delete it"):
            get(tmp_path)
        (tmp_path / name).write_bytes(before)


def test_files_of_others_are_not_touched(server: FileServer, known: Any, tmp_path: Path) -> None:
    (tmp_path / "valid.txt").write_text("mine\n")
    with pytest.raises(InputError, match="is not from elman data get; choose another folder"):
        get(tmp_path)
    assert (tmp_path / "valid.txt").read_text() == "mine\n"


def test_a_wrong_file_leaves_nothing(server: FileServer, known: Any, tmp_path: Path) -> None:
    server.files["/toy/train.txt"] = b"something else\n"
    with pytest.raises(InputError, match="instead of"):
        get(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


def test_a_damaged_record(server: FileServer, known: Any, tmp_path: Path) -> None:
    for damage in ("{", "[]", '{"a": 1}', '{"a": {"files": 3}}'):
        (tmp_path / ".download.json").write_text(damage)
        with pytest.raises(InputError, match="is damaged; delete it"):
            get(tmp_path)


def test_a_folder_that_cannot_be_made(known: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written .*choose --out"):
        get(tmp_path / "file")


def test_mirrors_need_http(known: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELMAN_DATA_URL", "/home/me/corpora")
    with pytest.raises(InputError, match="is not an address of http or https"):
        get(tmp_path)


# Archives -----------------------------------------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


ARCHIVE = PublicFile("toy.zip", largest=10**6, members={"toy/a": "train.txt", "toy/b": "test.txt"})


def test_archives(server: FileServer, known: Any, tmp_path: Path) -> None:
    known(ARCHIVE)
    outside = {"../evil": b"x", "/tmp/evil": b"x", "toy/../../evil": b"x", "train.txt/evil": b"x"}
    server.files["/toy/toy.zip"] = zipped({"toy/a": TRAIN, "toy/b": VALID} | outside)
    assert get(tmp_path / "toy") == ["downloaded"] * 2
    assert names(tmp_path) == ["toy"]
    assert names(tmp_path / "toy") == [".download.json", "README.md", "test.txt", "train.txt"]
    assert (tmp_path / "toy" / "test.txt").read_bytes() == VALID
    assert get(tmp_path / "toy") == ["already there"] * 2


@pytest.mark.parametrize("damage", ["no zip", "member missing", "bomb", "cut", "bit", "link"])
def test_bad_archives(damage: str, server: FileServer, known: Any, tmp_path: Path) -> None:
    known(ARCHIVE)
    good = zipped({"toy/a": TRAIN, "toy/b": VALID})
    place = good.find(zlib_data(good))
    linked = io.BytesIO()
    with zipfile.ZipFile(linked, "w") as archive:
        info = zipfile.ZipInfo("toy/a")
        info.external_attr = 0o120777 << 16  # a symbolic link
        archive.writestr(info, "/etc/passwd")
        archive.writestr("toy/b", VALID)
    server.files["/toy/toy.zip"] = {
        "no zip": b"<html>not found</html>",
        "member missing": zipped({"toy/a": TRAIN}),
        "bomb": zipped({"toy/a": b"\0" * 10**6, "toy/b": VALID}),
        "cut": good[: len(good) // 2],
        "bit": good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :],
        "link": linked.getvalue(),
    }[damage]
    if damage == "link":  # written as the text that it holds, never as a link
        get(tmp_path / "toy")
        assert not (tmp_path / "toy" / "train.txt").is_symlink()
        return
    with pytest.raises(InputError, match="is not the archive|never shrinks that much"):
        get(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


def zlib_data(archive: bytes) -> bytes:
    """The first bytes of the packed content of the first member."""
    with zipfile.ZipFile(io.BytesIO(archive)) as found:
        info = found.infolist()[0]
        start = info.header_offset + 30 + len(info.filename)
        return archive[start : start + 8]


def test_a_member_is_cut_between_characters(server: FileServer, known: Any, tmp_path: Path) -> None:
    text = "ab ä€𝄞 c d e".encode()
    parts = {"train.txt": 4, "valid.txt": 3, "test.txt": 1}
    known(replace(ARCHIVE, members={"toy": "toy"}, parts=parts))
    server.files["/toy/toy.zip"] = zipped({"toy": text})
    assert get(tmp_path) == ["downloaded"] * 3
    found = [(tmp_path / name).read_text() for name in parts]
    # Byte 4 is inside ä (2 bytes), so that train has 5 bytes; € has exactly 3.
    assert found == ["ab ä", "€", "𝄞 c d e"]


# The command --------------------------------------------------------------------------------------


def test_the_command(
    server: FileServer,
    known: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(get_command, "public_corpora", public_corpora.public_corpora)
    assert elman(["data", "get", "toy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["folder"] == "toy"
    assert found["next"] == "use toy"
    assert elman(["data", "get", "toy"]) == 0
    shown = capsys.readouterr()
    assert "already there" in shown.out
    assert "licence: CC0" in shown.err
    assert elman(["data", "get"]) == 0
    assert "train.txt + 1" in capsys.readouterr().out
    assert elman(["data", "toy"]) == 0  # the folder can be used as it is
    assert elman(["data", "get", "toys"]) == 2
    assert "did you mean 'toy'?" in capsys.readouterr().err
    assert elman(["data", "get", "--out", "x"]) == 2


def test_all_corpora_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert elman(["data", "get"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in table())
    assert elman(["data", "get", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["blimp"]["verified"]
