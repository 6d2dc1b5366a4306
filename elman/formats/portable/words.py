"""From text to words, their ids and their characters, as elman splits and spells them.

    reader = WordReader.open("folder")          tokens.json and words.json of an ONNX folder
    reader.batch(["It's fine.", "No!"])         ids (N, T), characters (N, T, L), lengths (N,)
    reader.pairs(texts, others)                 the same with `first`: the words of the first texts
    reader.answers(questions, passages)         the inputs of answers.onnx

Needs numpy, not torch. A Hugging Face tokenizer and the file beside ONNX graphs are made of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from elman.text.corpus_form import CorpusForm, Piece
from elman.text.look_alikes import unify
from elman.text.spelling import spell
from elman.text.splitting import find_words, is_typed
from elman.text.treebank_cuts import TreebankCuts

_SPACED = re.compile(r"\S+")
_ANY_DIGIT = re.compile(r"\d")


class WordReader:
    """The vocabulary of a run, and its way to split text.

    `splits`: "spaces"; "form": as the training text writes typed text; "typed": "form" if marks are
    attached to words, else "spaces"; "raw": words, numbers and marks; "cuts": as a treebank does.
    """

    def __init__(self, words: Sequence[str], settings: dict[str, Any]) -> None:
        self.settings = settings
        self.longest = settings["longest"]  # bytes of a word that the model reads
        self._ids = {word: number for number, word in enumerate(words)}
        self._form = CorpusForm(words[1 : settings["seen"]], self.normalise, keeps_marks=True)
        self._cuts = TreebankCuts.from_data(settings["cuts"]) if settings["cuts"] else None

    @classmethod
    def open(cls, folder: str | Path) -> WordReader:
        """The reader of a folder with ONNX graphs."""
        words, settings = (
            json.loads(Path(folder, name).read_text(encoding="utf-8"))
            for name in ("tokens.json", "words.json")
        )
        return cls(words, settings)

    # Words ----------------------------------------------------------------------------------------

    def pieces(self, text: str) -> list[Piece]:
        """The words of a text, each with its start and its end."""
        splits = self.settings["splits"]
        if splits == "form" or (splits == "typed" and is_typed(text)):
            lines = text.split("\n")
            starts = accumulate((len(line) + 1 for line in lines), initial=0)
            return [
                Piece(word, start + first, start + last)
                for start, line in zip(starts, lines, strict=False)
                for word, first, last in self._form.pieces(line)
            ]
        if splits == "raw":
            return [Piece(text[start:end], start, end) for start, end in find_words(text)]
        chunks = [Piece(chunk.group(), *chunk.span()) for chunk in _SPACED.finditer(text)]
        if splits == "cuts":
            return [word for chunk in chunks for word in self._cut(chunk, chunk is chunks[-1])]
        return chunks

    def _cut(self, chunk: Piece, is_last: bool) -> list[Piece]:
        """The words of a chunk; words that are not in the text have the place of the chunk."""
        assert self._cuts is not None
        text, start, end = chunk
        words = self._cuts.split_chunk(text, is_last=is_last)
        if "".join(words) != text:
            return [Piece(word, start, end) for word in words]
        ends = [start + length for length in accumulate(map(len, words), initial=0)]
        return [Piece(*each) for each in zip(words, ends[:-1], ends[1:], strict=True)]

    def normalise(self, word: str) -> str:
        """The word as it is looked up."""
        settings = self.settings
        word = unify(word, settings["form"], typographic=settings["typographic"])
        if settings["lowercase"]:
            word = word.lower()
        return _ANY_DIGIT.sub("0", word) if settings["digits_alike"] else word

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of each word; 0: unknown."""
        return [self._ids.get(self.normalise(word), 0) for word in words]

    # Arrays ---------------------------------------------------------------------------------------

    def spell(self, words: Sequence[str]) -> np.ndarray:
        """The characters of words, (N, longest + 2): 257, UTF-8 bytes plus one, 258, 0 …"""
        return spell(words, self.longest).astype(np.int64)

    def words(self, text: str | Sequence[str]) -> list[str]:
        """The words of a text; a list of words stays as it is."""
        return [piece.token for piece in self.pieces(text)] if isinstance(text, str) else [*text]

    def batch(self, texts: Sequence[str | Sequence[str]]) -> dict[str, np.ndarray]:
        """The inputs of a graph: texts as strings, or as lists of words."""
        rows = [self.words(text) for text in texts]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        shape = len(rows), max(int(lengths.max(initial=0)), 1)
        ids = np.zeros(shape, dtype=np.int64)
        characters = np.zeros((*shape, self.longest + 2), dtype=np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = self.ids(row)
            characters[number, : len(row)] = self.spell(row)
        used = max(int((characters != 0).sum(2).max(initial=0)), 1)
        return {"ids": ids, "characters": characters[:, :, :used], "lengths": lengths}

    def pairs(self, texts: Sequence[str], others: Sequence[str]) -> dict[str, np.ndarray]:
        """The inputs of a graph that classifies pairs of texts."""
        firsts, seconds = [*map(self.words, texts)], [*map(self.words, others)]
        both = [[*first, *second] for first, second in zip(firsts, seconds, strict=True)]
        return self.batch(both) | {"first": np.array([len(first) for first in firsts])}

    def answers(self, questions: Sequence[str], passages: Sequence[str]) -> dict[str, np.ndarray]:
        """The inputs of a graph that answers questions; `matched`: words that both texts have."""
        asked, read = [*map(self.words, questions)], [*map(self.words, passages)]
        found = {
            f"{role}_{name}": array
            for role, rows in (("question", asked), ("passage", read))
            for name, array in self.batch(rows).items()
        }
        matched = np.zeros(found["passage_ids"].shape, dtype=bool)
        for row, question, passage in zip(matched, asked, read, strict=True):
            known = {word.lower() for word in question}
            row[: len(passage)] = [word.lower() in known for word in passage]
        return found | {"matched": matched}
