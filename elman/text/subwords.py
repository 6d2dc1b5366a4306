"""Subwords: byte-level BPE and the unigram model, from the `tokenizers` library.

An id is the id of the library plus one, because `<eos>` is 0 here and unknown to the library. So a
text that contains the string `<eos>` stays text.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers, trainers

from elman.data_checks import flag, text, whole
from elman.text import sample
from elman.text.tokenizer import (
    EOS,
    UNKNOWN,
    Spans,
    TextConfig,
    Tokenizer,
    refuse_min_count,
    require_size,
    split_lines,
)

DEFAULT_SIZE = 8000
# The library's name of the unknown piece. No line has a newline, so a `<unk>` in a text is text.
_UNKNOWN_PIECE = f"{UNKNOWN}\n"
_PENALTY = 0.0001  # the step between the scores of rare characters in the library


class _SubWords(Tokenizer):
    """Base class: the library encodes lines, this class adds `<eos>` between them."""

    space_before_words = True
    samples = True
    offset: ClassVar[int] = 1  # the library's first piece comes after <eos>

    def __init__(self, library: Library, lowercase: bool = False) -> None:
        super().__init__(lowercase)
        self.library = library
        pieces = sorted((number, piece) for piece, number in library.get_vocab().items())
        self.tokens = [EOS, *(self._readable(piece) for _, piece in pieces)]

    @staticmethod
    def _readable(piece: str) -> str:
        return piece

    @classmethod
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        most = sample.DEFAULT if config.sample is None else config.sample
        used, sampled = sample.spread(blocks, most) if most else (blocks, None)
        tokenizer = cls(cls._train_library(used, config), config.lowercase)
        tokenizer.sample = sampled
        return tokenizer

    @classmethod
    @abstractmethod
    def _train_library(cls, blocks: Iterable[str], config: TextConfig) -> Library: ...

    def _encode(self, text: str) -> np.ndarray:
        parts: list[Iterable[int]] = []
        for number, encoding in enumerate(self.library.encode_batch_fast(text.split("\n"))):
            parts.append((self.eos_id - self.offset,) if number else ())
            parts.append(encoding.ids)
        return np.fromiter(chain.from_iterable(parts), dtype=np.int64) + self.offset

    def _spans(self, text: str) -> Spans:
        ids: list[int] = []
        places: list[tuple[int, int]] = []
        start = 0
        for line in text.split("\n"):
            encoding = self.library.encode(line)
            ids += [number + self.offset for number in encoding.ids] + [self.eos_id]
            places += [(start + first, start + last) for first, last in encoding.offsets]
            places.append((start + len(line), start + len(line) + 1))
            start += len(line) + 1
        # No newline follows the last line.
        starts, ends = np.array(places[:-1], dtype=np.int64).reshape(-1, 2).T
        return Spans(np.array(ids[:-1], dtype=np.int64), starts, ends)

    def token_texts(self) -> list[str]:
        pieces = [[number] for number in range(len(self) - self.offset)]
        return ["\n", *self.library.decode_batch(pieces, skip_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        lines = split_lines(ids, self.eos_id)
        return "\n".join(
            self._decode_line([number - self.offset for number in line]) for line in lines
        )

    def _decode_line(self, ids: list[int]) -> str:
        return self.library.decode(ids, skip_special_tokens=False)

    def to_data(self) -> dict[str, Any]:
        sampled = (
            {} if self.sample is None else {"sample": [self.sample.characters, self.sample.of]}
        )
        return {"library": self.library.to_str(), "lowercase": self.lowercase, **sampled}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        try:
            library = Library.from_str(text(data["library"], "library"))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(error) from None
        tokenizer = cls(library, flag(data["lowercase"], "lowercase"))
        if "sample" in data:
            characters, of = data["sample"]
            tokenizer.sample = sample.Sample(whole(characters, "sample"), whole(of, "sample"))
        return tokenizer


class BytePairs(_SubWords):
    """Byte-level BPE (Sennrich et al. 2016): merge the most frequent byte pair repeatedly."""

    name = "bpe"
    about = "byte-level byte-pair encoding; no token is unknown"
    loses = ""

    @staticmethod
    def _readable(piece: str) -> str:
        return piece.replace("Ġ", "␣")

    @classmethod
    def _train_library(cls, blocks: Iterable[str], config: TextConfig) -> Library:
        require_size(config, 1 + 256, "bpe, with a token for every byte,")
        library = Library(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=(config.vocabulary_size or DEFAULT_SIZE) - cls.offset,
            min_frequency=config.min_count or 2,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        library.train_from_iterator(_lines(blocks), trainer)
        return library


class Unigram(_SubWords):
    """Unigram subwords (Kudo 2018): the pieces that make the text most likely."""

    name = "unigram"
    about = "unigram subwords; characters not seen in training are unknown"
    loses = "characters that were not in the training text"

    unknown_id = 1

    @staticmethod
    def _readable(piece: str) -> str:
        return piece.rstrip("\n")

    @classmethod
    def _train_library(cls, blocks: Iterable[str], config: TextConfig) -> Library:
        refuse_min_count(config, "unigram")
        alphabet: set[str] = set()
        for block in blocks:
            alphabet |= set(block)
        alphabet.discard("\n")
        smallest = 2 + len(alphabet)
        require_size(config, smallest, "unigram, with a token for every character,")
        library = Library(models.Unigram())
        library.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_next")
        trainer = trainers.UnigramTrainer(
            vocab_size=(config.vocabulary_size or max(DEFAULT_SIZE, smallest)) - cls.offset,
            unk_token=_UNKNOWN_PIECE,
            special_tokens=[],
            initial_alphabet=sorted(alphabet),
            show_progress=False,
        )
        library.train_from_iterator(_lines(blocks), trainer)
        library.model = models.Unigram(_in_order(library), unk_id=0)
        return library

    def token_texts(self) -> list[str]:
        return ["\n", *self.tokens[1:]]

    def _decode_line(self, ids: list[int]) -> str:
        return "".join(self.tokens[number + self.offset] for number in ids)


def _in_order(library: Library) -> list[tuple[str, float]]:
    """The pieces of a trained unigram model in a fixed order, so that ids are reproducible.

    The library visits its pieces in random order: sums differ in their last digits, and characters
    too rare for a probability get the lowest one plus a small step each, in random order.
    """
    unknown, *pieces = json.loads(library.to_str())["model"]["vocab"]
    lowest = min((score for _, score in pieces), default=0.0)
    scores = {}
    for piece, score in pieces:
        rare = len(piece) == 1 and score < lowest + _PENALTY * len(pieces)
        scores[piece] = round(lowest if rare else score, 9)
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [(unknown[0], unknown[1]), *ranked]


def _lines(blocks: Iterable[str]) -> Iterator[str]:
    """The lines that are not empty."""
    return (match.group() for block in blocks for match in re.finditer(r"[^\n]+", block))
