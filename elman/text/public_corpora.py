"""Public corpora: what they are, where, how large, under which licence.

The table is `public_corpora.toml`; its comments say where each address was found. Read by
`tasks/data_get.py`, which downloads them.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from elman.errors import InputError, nearest
from elman.text.downloads import check_address

MIRROR = "ELMAN_DATA_URL"


@dataclass(frozen=True)
class PublicFile:
    """One file to download; `sha256` only if we hold a copy of the published file."""

    name: str
    size: int | None = None
    sha256: str | None = None
    largest: int = 0  # bytes; 0: exactly `size`
    members: dict[str, str] = field(default_factory=dict)  # of a zip file: name there, name here
    parts: dict[str, int] = field(default_factory=dict)  # the one member is cut into these files

    @property
    def bound(self) -> int:
        """The number of bytes that the download may have."""
        return self.largest or self.size or 0

    def results(self) -> list[str]:
        """The files that it makes in the folder."""
        return [*self.parts] or [*self.members.values()] or [self.name]


@dataclass(frozen=True)
class PublicCorpus:
    """A corpus that can be downloaded."""

    name: str
    about: str
    kind: str
    licence: str
    base: str
    next: str  # a command that uses the folder
    files: tuple[PublicFile, ...]

    @property
    def size(self) -> int | None:
        """The bytes to download; None if the publisher changes them."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def verified(self) -> bool:
        """Whether the SHA-256 of every file is known beforehand."""
        return all(file.sha256 for file in self.files)

    def address(self, file: PublicFile) -> str:
        """Where a file is; below the mirror of `ELMAN_DATA_URL` if that is set."""
        mirror = os.environ.get(MIRROR, "").strip()
        if not mirror:
            return f"{self.base}{file.name}"
        check_address(mirror)
        return f"{mirror.rstrip('/')}/{self.name}/{file.name}"

    def to_data(self) -> dict[str, Any]:
        return {
            "about": self.about,
            "kind": self.kind,
            "licence": self.licence,
            "bytes": self.size,
            "verified": self.verified,
            "files": [name for file in self.files for name in file.results()],
            "addresses": [self.address(file) for file in self.files],
        }


@cache
def public_corpora() -> dict[str, PublicCorpus]:
    """All corpora of the table, by name."""
    table = files("elman.text").joinpath("public_corpora.toml").read_text(encoding="utf-8")
    return {
        name: PublicCorpus(
            name=name,
            **{key: value for key, value in entry.items() if key != "files"},
            files=tuple(PublicFile(**file) for file in entry["files"]),
        )
        for name, entry in tomllib.loads(table).items()
    }


def public_corpus(name: str) -> PublicCorpus:
    """A corpus of the table by its name."""
    known = public_corpora()
    if name not in known:
        raise InputError(f"unknown corpus {name!r}; {nearest(name, known)} (elman data get)")
    return known[name]
