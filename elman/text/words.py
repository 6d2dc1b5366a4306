"""Words separated by white space, for corpora that are already tokenized (Penn Treebank, WikiText).

Punctuation must already be separated. An out-of-vocabulary word is `<unk>`; a `<unk>` in the text
is the same token, as these corpora intend.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from elman.data_checks import flag, texts
from elman.errors import InputError
from elman.text.corpus_form import CorpusForm
from elman.text.tokenizer import (
    EOS,
    UNKNOWN,
    Ids,
    IdWriter,
    Spans,
    TextConfig,
    Tokenizer,
    count_vocabulary,
    split_lines,
)

# Markers that elman or the ARPA format adds; in the text they would be ambiguous.
RESERVED = (EOS, "<s>", "</s>")
# The pattern matches the marker first, then its surroundings: ten times as fast as the reverse.
_WRITTEN_UNKNOWN = re.compile(rf"{UNKNOWN}(?<!\S{UNKNOWN})(?!\S)")


class Words(Tokenizer):
    """Splits at white space."""

    name = "words"
    about = "split at white space, for text that is already tokenized"
    loses = "unknown words, and white space other than single spaces"
    whole_words = True

    def __init__(self, tokens: list[str], lowercase: bool = False) -> None:
        super().__init__(lowercase)
        self.tokens = tokens
        self.unknown_id = tokens.index(UNKNOWN)
        self.ids = Ids(tokens, self.unknown_id)

    @classmethod
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        return cls._learn_into(IdWriter(), blocks, lambda block: block, config)

    @classmethod
    def _learn_into(
        cls,
        writer: IdWriter,
        blocks: Iterable[str],
        form: Callable[[str], str],
        config: TextConfig,
    ) -> Self:
        # Lookups take the most time, so each word is looked up once: numbered in order of
        # appearance, counted, renumbered by frequency.
        known = writer.known()
        first_seen: dict[str, int] = defaultdict(itertools.count(len(known)).__next__)
        first_seen.update((word, number) for number, word in enumerate(known))
        for block in writer.remaining(blocks):
            words = split_words(form(block))
            before = len(first_seen)
            numbers = np.fromiter(map(first_seen.__getitem__, words), np.int64, len(words))
            writer.append(numbers, [*itertools.islice(first_seen, before, None)])
        counts = dict(zip(first_seen, writer.counts(len(first_seen)).tolist(), strict=True))
        counts.pop(EOS, None)
        counts.pop(UNKNOWN, None)
        frequent = count_vocabulary(counts, config, min_count=1, reserved=2)
        tokenizer = cls([EOS, UNKNOWN, *frequent], config.lowercase)
        writer.renumber(tokenizer.ids.of([*first_seen]))
        return tokenizer

    def _encode(self, text: str) -> np.ndarray:
        return self.ids.of(split_words(text))

    def decode(self, ids: Iterable[int]) -> str:
        lines = split_lines(ids, self.eos_id)
        return "\n".join(" ".join(self.tokens[number] for number in line) for line in lines)

    def _spans(self, text: str) -> Spans:
        refuse_reserved(text)
        places = [match.span() for match in re.finditer(r"\n|\S+", text)]
        words = [text[start:end] for start, end in places]
        ids = self.ids.of([EOS if word == "\n" else word for word in words])
        starts, ends = np.array(places, dtype=np.int64).reshape(-1, 2).T
        return Spans(ids, starts, ends)

    @cached_property
    def begins_word(self) -> np.ndarray | None:
        return None  # a token is a word

    def count_unknown(self, text: str, ids: np.ndarray) -> int:
        # A <unk> in the text is a known token.
        written = len(_WRITTEN_UNKNOWN.findall(text))
        return super().count_unknown(text, ids) - written

    def normalise(self, text: str) -> str:
        lines = super().normalise(text).split("\n")
        return "\n".join(" ".join(line.split()) for line in lines)

    @cached_property
    def form(self) -> CorpusForm:
        """The conventions of the training text for typed input."""
        return CorpusForm([token for token in self.tokens if token not in (EOS, UNKNOWN)])

    def prepare(self, text: str) -> str:
        lines = self._in_form(text).split("\n")
        return "\n".join(" ".join(self.form.split(line)) for line in lines)

    def encode_typed(self, text: str) -> np.ndarray:
        return self.typed_spans(text).ids

    def _typed_spans(self, text: str) -> Spans:
        refuse_reserved(text)
        tokens: list[str] = []
        places: list[tuple[int, int]] = []
        start = 0
        for line in text.split("\n"):
            for token, first, last in self.form.pieces(line):
                tokens.append(token)
                places.append((start + first, start + last))
            start += len(line) + 1
            tokens.append(EOS)
            places.append((start - 1, start))
        # No line end follows the last line.
        starts, ends = np.array(places[:-1], dtype=np.int64).reshape(-1, 2).T
        return Spans(self.ids.of(tokens[:-1]), starts, ends)

    def context(self, ids: Sequence[int]) -> Sequence[int]:
        """The line so far: earlier quotation marks decide whether the next one opens or closes."""
        for place in range(len(ids) - 1, -1, -1):
            if ids[place] == self.eos_id:
                return ids[place + 1 :]
        return ids

    def write(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        line = Line([self.tokens[number] for number in self.context(before)])
        written = []
        for number in ids:
            if number == self.eos_id:
                written.append("\n")
                line = Line()
            else:
                written.append(line.add(self.tokens[number]))
        return "".join(written)

    def to_data(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "lowercase": self.lowercase}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        tokens = texts(data["tokens"], "tokens")
        return cls(tokens, flag(data["lowercase"], "lowercase"))


def split_words(text: str) -> list[str]:
    """The words of a text, with `<eos>` for every line end."""
    refuse_reserved(text)
    return text.replace("\n", f" {EOS} ").split()


def refuse_reserved(text: str) -> None:
    """Refuse a text that contains a marker as a word; the error names the line."""
    if not any(marker in text for marker in RESERVED):
        return
    match = re.search(rf"(?<!\S)({'|'.join(RESERVED)})(?!\S)", text)
    if match:
        line = text.count("\n", 0, match.start()) + 1
        raise InputError(
            f"line {line}: the word {match.group()!r} is a marker that elman adds to every line; "
            "remove it from the text, or train with --set text.tokenizer=raw-words, which reads "
            "it as ordinary text"
        )


_TO_THE_LEFT = frozenset(
    [*",.;:!?%)]}…", "”", "’", "»", "''", "...", "-rrb-", "-RRB-", "-rsb-", "-RSB-"]
)
_TO_THE_RIGHT = frozenset(
    [*"([{$£€#¿¡", "“", "‘", "„", "«", "``", "-lrb-", "-LRB-", "-lsb-", "-LSB-"]
)
_IN_TURN = ('"', "'")  # the same mark opens and closes
_PLAIN = {
    "``": '"', "''": '"', "-lrb-": "(", "-LRB-": "(", "-rrb-": ")", "-RRB-": ")",
    "-lsb-": "[", "-LSB-": "[", "-rsb-": "]", "-RSB-": "]",
}  # fmt: skip


class Line:
    """Write the tokens of a corpus as people do: the reverse of `corpus_form.py`.

        He didn 't see John 's house , did he ?   →   He didn't see John's house, did he?

    Takes tokens one by one, so that a text can be shown while it is generated; gives the text that
    each adds to the line. Two tokens are separated by a space unless one is attached to the other:
    closing marks and clitics attach to the word before, opening marks to the word after. Plain
    quotation marks open and close in turn.
    """

    def __init__(self, tokens: Sequence[str] = ()) -> None:
        self._open = dict.fromkeys(_IN_TURN, False)
        self._last = ""  # the token before
        self._holds_on = True  # whether the next token follows without a space
        for token in tokens:
            self.add(token)

    def add(self, token: str) -> str:
        """The text that one more token adds to the line."""
        if len(token) == 3 and token[0] == token[2] == "@":  # WikiText: well @-@ known
            written, self._holds_on = token[1], True
        elif token in _IN_TURN:
            written = self._quote(token)
        else:
            attached = self._holds_on or token in _TO_THE_LEFT or self._is_clitic(token)
            written = ("" if attached else " ") + _PLAIN.get(token, token)
            self._holds_on = token in _TO_THE_RIGHT or self._is_elided(token)
        self._last = token
        return written

    def _quote(self, mark: str) -> str:
        """Write a mark that opens and closes in turn; an apostrophe after an s marks a plural."""
        closes = self._open[mark]
        plural = mark == "'" and not closes and self._last.endswith("s") and not self._holds_on
        written = mark if closes or plural or self._holds_on else f" {mark}"
        if not plural:
            self._open[mark] = not closes
        self._holds_on = not closes and not plural
        return written

    def _is_clitic(self, token: str) -> bool:
        """Whether a token is a clitic of the word before it: 's, n't."""
        if not self._last[-1:].isalnum():
            return False
        return (token[:1] in "'’" and token[1:2].isalpha()) or token.lower() in ("n't", "n’t")

    def _is_elided(self, token: str) -> bool:
        """Whether a token is a clitic of the word after it: l', qu'."""
        return len(token) > 1 and token[-1] in "'’" and token[:-1].isalpha() and len(token) < 4
