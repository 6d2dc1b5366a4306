"""The tokenizer of a pretrained Hugging Face model, as `text.tokenizer=hf:FOLDER`.

Reads `tokenizer.json` (the fast tokenizer) and `config.json` of a local folder, or of a model in
the user's cache. Nothing is downloaded, and no code of the folder is run. Ids are those of the
model, so an n-gram model that is trained on them can be mixed with it. A line end is the `eos`
token of the model; its special tokens in a text are ordinary text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from tokenizers import Tokenizer as Library
from tokenizers import pre_tokenizers

from elman.data_checks import text as as_text
from elman.data_checks import whole
from elman.errors import InputError
from elman.text.tokenizer import IdWriter, Spans, TextConfig, Tokenizer, split_lines

_SPACE = "▁"  # of SentencePiece, in place of a space
_CONTINUES = "##"  # of WordPiece, before a piece within a word


def find_folder(name: str) -> Path:
    """The folder of a model: a local one, or the one in the user's cache."""
    if Path(name).is_dir():
        return Path(name)
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except ImportError:
        raise InputError(f"hf:{name}: no such folder") from None
    except Exception as error:  # the library raises many kinds: bad names, missing snapshots
        raise InputError(
            f"hf:{name}: is neither a folder nor a model in your Hugging Face cache "
            f"({type(error).__name__}); elman downloads nothing: hf download {name}"
        ) from None


def read_settings(folder: Path) -> dict[str, Any]:
    """The `config.json` of a model."""
    try:
        found = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"hf:{folder}: has no readable config.json ({error})") from None
    if not isinstance(found, dict) or not isinstance(found.get("vocab_size"), int):
        raise InputError(f"hf:{folder}: config.json has no vocab_size")
    return found


class PretrainedTokenizer(Tokenizer):
    """The tokens of a pretrained model."""

    name = "hf"
    about = "the fast tokenizer of a Hugging Face model in a local folder"
    loses = "what the tokenizer of the model normalises"
    space_before_words = True

    def __init__(self, library: Library, eos_id: int, first_id: int, size: int) -> None:
        super().__init__()
        library.no_truncation()
        library.no_padding()
        library.encode_special_tokens = True  # `<|endoftext|>` in a text is text
        self.library = library
        self.eos_id, self.first_id = eos_id, first_id
        pieces = {number: piece for piece, number in library.get_vocab().items()}
        if max(pieces) >= size:
            raise InputError(
                f"hf: the tokenizer has {max(pieces) + 1:,} tokens, but the model only {size:,}"
            )
        # Models have rows without a token, so that their sizes are round.
        self.tokens = [pieces.get(number, f"<unused {number}>") for number in range(size)]
        unknown = getattr(library.model, "unk_token", None)
        found = library.token_to_id(unknown) if unknown else None
        self.unknown_id = None if found == eos_id else found

    @classmethod
    def open(cls, name: str) -> Self:
        """The tokenizer of a folder or of a model in the cache."""
        folder = find_folder(name)
        settings = read_settings(folder)
        try:
            library = Library.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises nothing narrower
            raise InputError(
                f"hf:{name}: has no readable tokenizer.json ({error}); elman needs the fast "
                "tokenizer: save it with transformers, AutoTokenizer…save_pretrained(FOLDER)"
            ) from None
        size = int(settings["vocab_size"])
        eos_id = _special_id(settings, "eos_token_id")
        first_id = _special_id(settings, "bos_token_id")
        first_id = eos_id if first_id is None else first_id
        eos_id = first_id if eos_id is None else eos_id
        if eos_id is None or first_id is None or not (0 <= eos_id < size and 0 <= first_id < size):
            raise InputError(f"hf:{name}: config.json names no eos_token_id among its {size:,} ids")
        return cls(library, eos_id, first_id, size)

    @classmethod
    def learn_into(cls, writer: IdWriter, blocks: Iterable[str], config: TextConfig) -> Self:
        if config.lowercase or config.vocabulary_size or config.min_count:
            raise InputError(
                "text.tokenizer=hf: has its own vocabulary; leave out text.lowercase, "
                "text.vocabulary_size and text.min_count"
            )
        return super().learn_into(writer, blocks, replace(config, normalise="none"))

    @classmethod
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        name = config.tokenizer.partition(":")[2]
        if not name:
            raise InputError("text.tokenizer=hf: name the folder, as in hf:FOLDER")
        return cls.open(name)

    def _encode(self, text: str) -> np.ndarray:
        parts: list[Iterable[int]] = []
        encoded = self.library.encode_batch_fast(text.split("\n"), add_special_tokens=False)
        for number, encoding in enumerate(encoded):
            parts.append((self.eos_id,) if number else ())
            parts.append(encoding.ids)
        return np.fromiter(chain.from_iterable(parts), dtype=np.int64)

    def _spans(self, text: str) -> Spans:
        ids: list[int] = []
        places: list[tuple[int, int]] = []
        start = 0
        for line in text.split("\n"):
            encoding = self.library.encode(line, add_special_tokens=False)
            ids += [*encoding.ids, self.eos_id]
            places += [(start + first, start + last) for first, last in encoding.offsets]
            places.append((start + len(line), start + len(line) + 1))
            start += len(line) + 1
        # No newline follows the last line.
        starts, ends = np.array(places[:-1], dtype=np.int64).reshape(-1, 2).T
        return Spans(np.array(ids[:-1], dtype=np.int64), starts, ends)

    def decode(self, ids: Iterable[int]) -> str:
        lines = split_lines(ids, self.eos_id)
        return "\n".join(self.library.decode(line, skip_special_tokens=False) for line in lines)

    def token_texts(self) -> list[str]:
        found = _Written(self.library).texts(self.tokens)
        found[self.eos_id] = "\n"
        return found

    @cached_property
    def begins_word(self) -> np.ndarray | None:
        # Where pieces mark the end of a word, as in `the</w>`, a word includes its end.
        marks_ends = getattr(self.library.model, "end_of_word_suffix", None)
        return None if marks_ends else super().begins_word

    def to_data(self) -> dict[str, Any]:
        ids = {"eos_id": self.eos_id, "first_id": self.first_id, "size": len(self.tokens)}
        return {"library": self.library.to_str(), **ids}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        try:
            library = Library.from_str(as_text(data["library"], "library"))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(error) from None
        numbers = [whole(data[name], name) for name in ("eos_id", "first_id", "size")]
        return cls(library, *numbers)


def _special_id(settings: dict[str, Any], name: str) -> int | None:
    found = settings.get(name)
    found = found[0] if isinstance(found, list) and found else found
    return found if isinstance(found, int) else None


class _Written:
    """How the pieces of a library write text."""

    def __init__(self, library: Library) -> None:
        described = json.loads(library.to_str())
        parts = json.dumps([described.get(name) for name in ("pre_tokenizer", "decoder")])
        self._in_bytes = "ByteLevel" in parts
        self._is_word_piece = described["model"].get("type") == "WordPiece"
        self._bytes = _byte_alphabet() if self._in_bytes else {}
        self._special = {one["content"] for one in described.get("added_tokens") or []}

    def texts(self, pieces: list[str]) -> list[str]:
        """The text of every piece, with the space before a word."""
        return [piece if piece in self._special else self._text(piece) for piece in pieces]

    def _text(self, piece: str) -> str:
        if self._in_bytes and all(letter in self._bytes for letter in piece):
            return bytes(self._bytes[letter] for letter in piece).decode(errors="replace")
        if self._is_word_piece:
            return piece.removeprefix(_CONTINUES) if piece.startswith(_CONTINUES) else f" {piece}"
        if len(piece) == 6 and piece.startswith("<0x"):  # a byte
            return bytes([int(piece[3:5], 16)]).decode(errors="replace")
        return piece.replace(_SPACE, " ")


def _byte_alphabet() -> dict[str, int]:
    """The byte that each letter of a byte-level vocabulary stands for."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    letters |= {chr(256 + number): byte for number, byte in enumerate(others)}
    assert {*letters} == {*pre_tokenizers.ByteLevel.alphabet()}
    return letters
