"""The ids of a text: in memory if it is small, in a memory-mapped file if it is large.

Takes a document, gives a tokenizer and an array of ids; called by `text_task.py`. The file of a
large text is in a cache folder (`ELMAN_CACHE`, by default `~/.cache/elman`), under a name that
depends on the files of the text and on the settings. It is made once: the next training uses it
again, and an interrupted reading continues where it stopped. Only files that belong to `done.json`
are ever used.

    progress.json    how many blocks, ids and words are certain
    ids.bin          ids (or preliminary numbers of words) so far, 32 bits each
    words.txt        words in order of appearance, as JSON strings
    done.json        the tokenizer and the size, once everything is complete
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elman.atomic import flush, replacing
from elman.errors import InputError
from elman.runs.lock import take_lock
from elman.text import (
    choose_tokenizer,
    guess_tokenizer,
    tokenizer_from_data,
    tokenizer_to_data,
    train_tokenizer,
)
from elman.text.reader import Document, named
from elman.text.streamed import StreamedDocument
from elman.text.tokenizer import IdWriter, TextConfig, Tokenizer, count_ids

Told = Callable[[str], None]
_FORMAT = 1  # of the files; another number makes them anew
_SAMPLE = 1_000_000  # characters that decide which tokenizer suits a text
_CERTAIN_EVERY = 5.0  # seconds of reading that an interruption may cost
_CHUNK = 1 << 22  # ids that are renumbered at a time
_IDS, _WORDS, _PROGRESS, _DONE = "ids.bin", "words.txt", "progress.json", "done.json"


def learn_ids(document: Document, config: TextConfig, told: Told) -> tuple[Tokenizer, np.ndarray]:
    """Fit the configured tokenizer to a text; return it with the ids of the text."""
    with named(document):
        if not isinstance(document, StreamedDocument):
            return train_tokenizer(document.text, config)
        name = config.tokenizer
        if name == "auto":
            name = guess_tokenizer(document.beginning(_SAMPLE))
        kind = choose_tokenizer(name)
        settings = [name, config.vocabulary_size, config.min_count, config.lowercase]
        settings += [config.normalise, *([config.sample] if kind.samples else [])]
        folder = _folder(document, settings)
        with _Files(folder, document, told) as writer:
            if writer.tokenizer is None:
                blocks = _Blocks(document)
                writer.tokenizer = kind.learn_into(writer, blocks, config)
            return writer.tokenizer, writer.finish()


def encode_ids(tokenizer: Tokenizer, document: Document, told: Told) -> np.ndarray:
    """The ids of a text with a known tokenizer."""
    if not isinstance(document, StreamedDocument):
        return tokenizer.encode(document.text)
    with _Files(_folder(document, [tokenizer_to_data(tokenizer)]), document, told) as writer:
        if writer.tokenizer is None:
            for block in writer.remaining(_Blocks(document)):
                writer.append(tokenizer.encode(block))
            writer.tokenizer = tokenizer
        return writer.finish()


def count_unknown(tokenizer: Tokenizer, document: Document, ids: np.ndarray) -> int:
    """The number of out-of-vocabulary tokens."""
    if tokenizer.unknown_id is None:
        return 0
    if not document.is_large:
        return tokenizer.count_unknown(document.text, ids)
    counted = sum(
        int(np.count_nonzero(ids[start : start + _CHUNK] == tokenizer.unknown_id))
        for start in range(0, len(ids), _CHUNK)
    )
    # A <unk> in the text is a known token of some tokenizers.
    nothing = np.zeros(0, dtype=np.int64)
    return counted + sum(tokenizer.count_unknown(block, nothing) for block in document.blocks())


class _Blocks:
    """The blocks of a document; can be iterated several times."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __iter__(self) -> Iterator[str]:
        return self._document.blocks()


def _folder(document: StreamedDocument, settings: list[Any]) -> Path:
    """The folder for the ids of a text with these settings."""
    known = document.identity()
    text = json.dumps([_FORMAT, known, settings], ensure_ascii=False, default=str)
    name = f"ids-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}"
    return cache_folder() / name


def cache_folder() -> Path:
    """Where files that can be made again are kept."""
    given = os.environ.get("ELMAN_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elman"


class _Files(IdWriter):
    """Ids in a file that grows while the text is read."""

    is_large = True

    def __init__(self, folder: Path, document: Document, told: Told) -> None:
        self._folder = folder
        self._document = document
        self._told = told
        self._blocks = self._ids = self._words = 0
        self._certain_at = self._told_at = time.monotonic()
        self._characters = 0
        self.tokenizer: Tokenizer | None = None

    def __enter__(self) -> _Files:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = take_lock(self._folder / ".lock")
        except OSError as error:
            raise InputError(
                f"{self._folder}: cannot be written ({error.strerror}); set ELMAN_CACHE to a "
                "folder for large files"
            ) from None
        if self._lock is None:
            raise InputError(f"{self._folder}: another process is reading this text; wait for it")
        self._restore()
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_file"):
            self._file.close()
            self._word_file.close()
        if self._lock is not None:
            self._lock.release()

    def _restore(self) -> None:
        """Continue with what is certain; what was written after that is cut off."""
        try:
            done = json.loads((self._folder / _DONE).read_text(encoding="utf-8"))
            if (self._folder / _IDS).stat().st_size == 4 * done["ids"]:
                self.tokenizer, self._ids = tokenizer_from_data(done["tokenizer"]), done["ids"]
                return
        except (OSError, ValueError, KeyError, TypeError, InputError):
            pass
        (self._folder / _DONE).unlink(missing_ok=True)
        try:
            known = json.loads((self._folder / _PROGRESS).read_text(encoding="utf-8"))
            self._blocks, self._ids = known["blocks"], known["ids"]
            self._words = known["words"]
            sizes = {_IDS: 4 * self._ids, _WORDS: known["bytes"]}
            if any((self._folder / name).stat().st_size < size for name, size in sizes.items()):
                raise ValueError("shorter than it should be")
        except (OSError, ValueError, KeyError, TypeError):
            self._blocks = self._ids = self._words = 0
            sizes = {_IDS: 0, _WORDS: 0}
        for name, size in sizes.items():
            with (self._folder / name).open("ab") as file:
                file.truncate(size)
        self._file = (self._folder / _IDS).open("ab")
        self._word_file = (self._folder / _WORDS).open("ab")

    def remaining(self, blocks: Iterable[str]) -> Iterator[str]:
        for number, block in enumerate(blocks):
            self._characters += len(block)
            if number >= self._blocks:
                self._tell()
                yield block

    def known(self) -> list[str]:
        text = (self._folder / _WORDS).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()][: self._words]

    def append(self, ids: np.ndarray, new: Sequence[str] = ()) -> None:
        self._file.write(ids.astype(np.int32).tobytes())
        self._word_file.write("".join(f"{json.dumps(word)}\n" for word in new).encode())
        self._ids += len(ids)
        self._words += len(new)
        self._blocks += 1
        if time.monotonic() - self._certain_at > _CERTAIN_EVERY:
            self._make_certain()

    def _make_certain(self) -> None:
        for file in (self._file, self._word_file):
            file.flush()
            os.fsync(file.fileno())
        state = {"blocks": self._blocks, "ids": self._ids, "words": self._words}
        state["bytes"] = self._word_file.tell()
        with replacing(self._folder / _PROGRESS) as path:
            path.write_text(json.dumps(state), encoding="utf-8")
        self._certain_at = time.monotonic()

    def counts(self, size: int) -> np.ndarray:
        self._make_certain()
        return sum((count_ids(part, size) for part in self._chunks()), np.zeros(size, np.int64))

    def renumber(self, table: np.ndarray) -> None:
        # Into a new file: half a renumbered file could not be told from a whole one.
        self._make_certain()
        new = self._folder / f"{_IDS}.new"
        with new.open("wb") as file:
            for part in self._chunks():
                file.write(table[part].astype(np.int32).tobytes())
        flush(new)
        # From here on, the preliminary numbers are gone: an interruption starts again.
        (self._folder / _PROGRESS).unlink(missing_ok=True)
        new.replace(self._folder / _IDS)

    def _chunks(self) -> Iterator[np.ndarray]:
        # Not mapped: the pages of a mapped file count as memory of the process.
        with (self._folder / _IDS).open("rb") as file:
            while len(part := np.fromfile(file, np.int32, _CHUNK)):
                yield part

    def _mapped(self) -> np.ndarray:
        # Copy on write: torch wants a writable array, and the file never changes.
        return np.memmap(self._folder / _IDS, dtype=np.int32, mode="c", shape=(self._ids,))

    def finish(self) -> np.ndarray:
        """The ids, mapped from the complete file."""
        assert self.tokenizer is not None
        if not (self._folder / _DONE).exists():
            self._file.flush()
            flush(self._folder / _IDS)
            done = {"ids": self._ids, "tokenizer": tokenizer_to_data(self.tokenizer)}
            with replacing(self._folder / _DONE) as file:
                file.write_text(json.dumps(done), encoding="utf-8")
            for name in (_PROGRESS, _WORDS):
                (self._folder / name).unlink(missing_ok=True)
        return self._mapped()

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told_at > 1:
            self._told_at = now
            self._told(f"tokenizing: {self._characters / 1e6:,.0f} million characters")
