"""What every tokenizer is: text to ids and back, with a place in the text for each token.

No torch here. The end of a line is one token in all of them, `<eos>`: a newline becomes `<eos>`,
`<eos>` becomes a newline, so that word, sub-word, character and byte models count lines the same
way and a text comes back as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from elman.errors import InputError, choose
from elman.text.normalising import AS_IT_IS, FORMS, Normaliser

EOS = "<eos>"
UNKNOWN = "<unk>"


@dataclass(kw_only=True)
class TextConfig:
    """How text becomes ids."""

    tokenizer: str = "auto"  # elman list tokenizers; "auto" looks at the training text
    vocabulary_size: int | None = None  # largest number of tokens; None: as many as there are
    min_count: int = 0  # words seen less often are unknown or spelled; 0: as the tokenizer likes
    lowercase: bool = False
    normalise: str = "nfc"  # none, nfc, or nfc+quotes: ’ and ' alike, as in the training text
    labelled: bool = False  # the data is a folder of lists; each line gets its file's name
    plain: bool = False  # read the file as text even if it looks like a table or annotation

    def __post_init__(self) -> None:
        if self.vocabulary_size is not None and self.vocabulary_size < 3:
            raise InputError(f"text.vocabulary_size={self.vocabulary_size}: at least 3 are needed")
        if self.min_count < 0:
            raise InputError(f"text.min_count={self.min_count}: cannot be negative")
        choose(FORMS, self.normalise, "text.normalise")


@dataclass
class Spans:
    """Ids of a text, and where in it each token begins and ends (characters)."""

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


class Tokenizer(ABC):
    """Text to ids and back."""

    name: ClassVar[str]
    about: ClassVar[str]
    loses: ClassVar[str]  # what decode(encode(text)) does not bring back; "" if nothing
    whole_words: ClassVar[bool] = False  # one token is one word or mark
    space_before_words: ClassVar[bool] = False  # the space before a word is part of its token

    tokens: list[str]  # a readable form of every token, by id
    eos_id: int = 0
    unknown_id: int | None = None
    normaliser: Normaliser = AS_IT_IS

    def __init__(self, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    @classmethod
    def train(cls, text: str, config: TextConfig) -> Self:
        """The tokenizer of a training text."""
        normaliser = Normaliser.learn(text, config.normalise)
        tokenizer = cls._train(_cased(normaliser(text), config.lowercase), config)
        tokenizer.normaliser = normaliser
        return tokenizer

    @classmethod
    def learn(cls, text: str, config: TextConfig) -> tuple[Self, np.ndarray]:
        """The tokenizer of a training text, and the ids of that text."""
        normaliser = Normaliser.learn(text, config.normalise)
        tokenizer, ids = cls._learn(_cased(normaliser(text), config.lowercase), config)
        tokenizer.normaliser = normaliser
        return tokenizer, ids

    # What is done in one way for each kind, with text that is in the right case already.

    @classmethod
    @abstractmethod
    def _train(cls, text: str, config: TextConfig) -> Self: ...

    @classmethod
    def _learn(cls, text: str, config: TextConfig) -> tuple[Self, np.ndarray]:
        tokenizer = cls._train(text, config)
        return tokenizer, tokenizer._encode(text)

    @abstractmethod
    def _encode(self, text: str) -> np.ndarray: ...

    @abstractmethod
    def _spans(self, text: str) -> Spans: ...

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Everything needed to make it again, as plain data."""

    @classmethod
    @abstractmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """The tokenizer that gave this data."""

    def encode(self, text: str) -> np.ndarray:
        """Ids of a text, int64."""
        no_surrogates(text)
        return self._encode(self._in_form(text))

    def spans(self, text: str) -> Spans:
        """Ids with their places. Slower than `encode`, for texts a person will look at."""
        no_surrogates(text)
        return self._located(text, self._spans(self._in_form(text)))

    def normalise(self, text: str) -> str:
        """The text as its tokens stand for it: what decoding brings back of known words."""
        return self._in_form(text)

    # Text as people type and read it. A tokenizer of raw text makes no difference; one of tokenized
    # text (`words.py`) puts marks and clitics apart, and together again.

    def typed_spans(self, text: str) -> Spans:
        """Ids of a typed text, and the place in it of each."""
        no_surrogates(text)
        return self._located(text, self._typed_spans(self._in_form(text)))

    def encode_typed(self, text: str) -> np.ndarray:
        """Ids of a typed text."""
        return self.encode(text)

    def _typed_spans(self, text: str) -> Spans:
        return self._spans(text)

    def prepare(self, text: str) -> str:
        """A typed text as the training text would have it."""
        return text

    def context(self, ids: Sequence[int]) -> Sequence[int]:
        """The last of these ids, as many as decide how the next one is written."""
        # A character is at most four tokens, its bytes in UTF-8. A space before a word, which its
        # neighbour decides, takes one.
        return ids[-4:]

    def write(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """What ids add to the text of those before them, as people write it."""
        before = self.context(before)
        return self.decode([*before, *ids])[len(self.decode(before)) :]

    def _in_form(self, text: str) -> str:
        return _cased(self.normaliser(text), self.lowercase)

    def _located(self, text: str, spans: Spans) -> Spans:
        """Places in the text as it was given, not in its normal form."""
        if len(self.normaliser(text)) == len(text):
            return spans
        places = self.normaliser.places(text)
        return Spans(spans.ids, places[spans.starts], places[spans.ends])

    def single_id(self, text: str) -> int:
        """The id of a text that is one known token, like `=` among characters."""
        ids = self.encode(text)
        if len(ids) != 1 or ids[0] == self.unknown_id:
            raise InputError(f"{text!r}: is not one token of this vocabulary ({self.name})")
        return int(ids[0])

    def count_unknown(self, text: str, ids: np.ndarray) -> int:
        """How many tokens stand for something that the vocabulary does not have."""
        return 0 if self.unknown_id is None else int(np.count_nonzero(ids == self.unknown_id))

    def __len__(self) -> int:
        return len(self.tokens)


def split_lines(ids: Iterable[int], eos_id: int) -> list[list[int]]:
    """The ids of each line, without `<eos>`; one line more than there are line ends."""
    lines: list[list[int]] = [[]]
    for number in ids:
        if number == eos_id:
            lines.append([])
        else:
            lines[-1].append(int(number))
    return lines


def refuse_min_count(config: TextConfig, name: str) -> None:
    """An error if words are to be left out by a tokenizer that has none."""
    if config.min_count:
        raise InputError(f"text.min_count={config.min_count}: has no meaning for {name}")


def _cased(text: str, lowercase: bool) -> str:
    return lower(text) if lowercase else text


def lower(text: str) -> str:
    """Lower case, but for the one letter that would grow, so that places in the text stay."""
    return "İ".join(part.lower() for part in text.split("İ"))


def count_vocabulary(
    counts: dict[str, int], config: TextConfig, min_count: int, reserved: int
) -> list[str]:
    """Tokens seen often enough, most frequent first, ties in alphabetical order."""
    smallest = config.min_count or min_count
    ranked = sorted((-count, token) for token, count in counts.items() if count >= smallest)
    room = None if config.vocabulary_size is None else max(config.vocabulary_size - reserved, 0)
    return [token for _, token in ranked[:room]]


class Ids(dict[str, int]):
    """Token to id; a token it does not have is the unknown one."""

    def __init__(self, tokens: Iterable[str], unknown: int) -> None:
        super().__init__((token, number) for number, token in enumerate(tokens))
        self.unknown = unknown

    def __missing__(self, token: str) -> int:
        return self.unknown

    def of(self, tokens: list[str]) -> np.ndarray:
        """Ids of tokens, without a Python step per token."""
        return np.fromiter(map(self.__getitem__, tokens), dtype=np.int64, count=len(tokens))


def require_size(config: TextConfig, smallest: int, what: str) -> None:
    """An error if fewer tokens are asked for than a tokenizer cannot do without."""
    if config.vocabulary_size is not None and config.vocabulary_size < smallest:
        raise InputError(
            f"text.vocabulary_size={config.vocabulary_size}: {what} needs at least {smallest}"
        )


def no_surrogates(text: str) -> bytes:
    """UTF-8 of a text; half characters (lone surrogates) have none and are refused."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"character {error.start + 1} of the text is half a character "
            f"(U+{ord(text[error.start]):04X}), which has no UTF-8 form: remove it"
        ) from None


def after_mark(ids: np.ndarray, mark: int, eos_id: int, until: int | None = None) -> np.ndarray:
    """Which ids stand after a mark in their line, `<eos>` among them; bool, same length.

    With `until`, only up to the next of these, which is the last one that counts.
    """

    def last_before(number: int) -> np.ndarray:
        """Where the last of these stands before each id; -1: nowhere."""
        places = np.where(ids == number, np.arange(len(ids)), -1)
        return np.concatenate([[-1], np.maximum.accumulate(places)[:-1]])

    marks = last_before(mark)
    after = marks > last_before(eos_id)
    return after if until is None else after & (marks > last_before(until))
