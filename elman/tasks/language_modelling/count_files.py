"""Folders of counts: what `elman counts` writes and `elman train ngram --counts` reads.

`counts/folders.py` describes their files; `counts/spark.py` writes such folders on a cluster.
Several folders add up if they have the same tokenizer: count the first, then the others with
`--like FIRST`. Called by `counting.py` and the command `counts`.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.atomic import flush
from elman.counts.folders import COUNTS, TOKENIZER, descriptions
from elman.counts.shards import file_order
from elman.data_checks import section, text, whole
from elman.errors import InputError
from elman.runs.claim import MANIFEST, cannot_write, claimed
from elman.runs.folder import read_run
from elman.runs.manifest import read_manifest, write_manifest
from elman.runs.parts import write_part
from elman.text import tokenizer_from_data
from elman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Counted:
    """The counts of one or several texts."""

    tokenizer: Tokenizer
    tokenizer_data: dict[str, Any]
    order: int
    context: str
    text: dict[str, Any]  # settings of the text
    data: dict[str, Any]  # facts about the text
    files: tuple[Path, ...]

    @property
    def tokens(self) -> int:
        return int(self.data["tokens"])


def write_counts(out: Path, counted: Counted, *, overwrite: bool = False) -> None:
    """Write a folder of counts; the files of the shards are moved there."""
    contents = descriptions(
        counted.tokenizer_data,
        order=counted.order,
        context=counted.context,
        text=counted.text,
        data=counted.data,
    )
    with claimed(out, overwrite=overwrite) as claim:
        try:
            for name, content in contents.items():
                write_part(claim.folder / name, content)
            for file in counted.files:
                shutil.copyfile(file, claim.folder / file.name)
                flush(claim.folder / file.name)
            names = sorted([*contents, *(file.name for file in counted.files)])
            write_manifest(claim.folder, {name: _entry(claim.folder / name) for name in names})
            flush(claim.folder)
            claim.publish()
        except OSError as error:
            raise cannot_write(out, error) from None


def is_counts(folder: Path) -> bool:
    """Whether a folder was written by `elman counts`."""
    return (folder / COUNTS).is_file()


def read_counts(folders: Sequence[str | Path]) -> Counted:
    """The counts of all these folders together."""
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise InputError("a folder of counts is given twice; give each once")
    found = [_read(Path(folder)) for folder in folders]
    first = found[0]
    for folder, other in zip(folders, found, strict=True):
        if other.tokenizer_data != first.tokenizer_data:
            raise InputError(
                f"{folder}: has other words or another tokenizer than {folders[0]}; count it "
                f"again with: elman counts … --like {folders[0]}"
            )
        if other.context != first.context:
            raise InputError(f"{folder}: contexts are {other.context!r}, not {first.context!r}")
    return Counted(
        first.tokenizer,
        first.tokenizer_data,
        min(other.order for other in found),
        first.context,
        first.text,
        _together([str(folder) for folder in folders], [other.data for other in found]),
        tuple(file for other in found for file in other.files),
    )


def _read(folder: Path) -> Counted:
    if not is_counts(folder):
        problem = "has no counts" if folder.is_dir() else "no such folder"
        raise InputError(f"{folder}: {problem}; make counts with: elman counts DATA --out FOLDER")
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder}: has no {MANIFEST}; counting was interrupted, count again")
    manifest = read_manifest(folder)
    contents = read_run(folder, (COUNTS, TOKENIZER))
    if len(contents) < 2:
        raise InputError(f"{folder}: is not complete; count again")
    try:
        found = section(contents[COUNTS], COUNTS)
        order, context = whole(found["order"], "order"), text(found["context"], "context")
        data = section(found["data"], "data")
        whole(data["tokens"], "tokens")
        settings = section(found["text"], "text")
        tokenizer = tokenizer_from_data(contents[TOKENIZER])
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{folder}: its files do not match ({error}); count again") from None
    files = []
    for name, expected in manifest["files"].items():
        if name in contents:
            continue
        file = folder / Path(name).name
        if not file.is_file() or _entry(file) != expected:
            raise InputError(f"{file}: is damaged or missing; count again")
        if file_order(file) < order:
            raise InputError(f"{file}: has n-grams of order {file_order(file)}, not {order}")
        files.append(file)
    return Counted(tokenizer, contents[TOKENIZER], order, context, settings, data, tuple(files))


def _entry(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": sha256}


def _together(names: list[str], facts: list[dict[str, Any]]) -> dict[str, Any]:
    """Facts about several texts."""
    if len(facts) == 1:
        return facts[0]
    sums = {
        name: sum(int(one.get(name, 0)) for one in facts)
        for name in ("lines", "empty_lines", "tokens", "unknown_tokens")
    }
    return {
        "name": ", ".join(names),
        "sha256": {name: sha for one in facts for name, sha in one["sha256"].items()},
        **sums,
        "notes": [note for one in facts for note in one["notes"]],
    }
