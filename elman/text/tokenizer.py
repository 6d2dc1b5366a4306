"""The interface of every tokenizer: text to ids and back, with the position of each token.

No torch here. In all of them, the end of a line is one token, `<eos>`: a newline becomes `<eos>`
and `<eos>` becomes a newline. So word, subword, character and byte models count lines the same
way, and decoding restores the text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from elman.errors import InputError, choose
from elman.text.example_splits import HASH, ORDERED, TIME, check_split
from elman.text.normalising import AS_IT_IS, FORMS, Normaliser
from elman.text.sample import Sample, parts
from elman.text.tables import check_columns

EOS = "<eos>"
UNKNOWN = "<unk>"
_CHUNK = 1 << 22  # ids that are counted at a time
_AT_ONCE = 1 << 22  # characters that are tokenized at a time


@dataclass(kw_only=True)
class TextConfig:
    """How text becomes ids."""

    tokenizer: str = "auto"  # elman list tokenizers; "auto" decides from the training text
    vocabulary_size: int | None = None  # largest number of tokens; None: no limit
    min_count: int = 0  # rarer words become unknown or bytes; 0: the default of the tokenizer
    lowercase: bool = False
    elisions: bool = False  # raw-words: l'homme, qu'il and dell'arte are two tokens
    normalise: str = "nfc"  # none, nfc, or nfc+quotes: ’ and ' alike, as in the training text
    labelled: bool = False  # the data is a folder of lists; prefix each line with its file name
    plain: bool = False  # read the file as text even if it looks like a table or annotation
    heads: bool = False  # CoNLL-U: after each word, an arrow with the distance of its head
    columns: dict[str, str] = field(default_factory=dict)  # of a table: {text = "…", time = "…"}
    split: str = "ordered"  # of a text without splits: ordered, hash, time or random:SEED
    sample: int | None = (
        None  # bpe, unigram: train on so many characters; 0: all; None: 100 million
    )
    strict: bool = False  # refuse rows of a table that have no text; False: count and report them

    def __post_init__(self) -> None:
        if self.vocabulary_size is not None and self.vocabulary_size < 3:
            raise InputError(f"text.vocabulary_size={self.vocabulary_size}: must be at least 3")
        if self.min_count < 0:
            raise InputError(f"text.min_count={self.min_count}: must not be negative")
        if self.sample is not None and self.sample < 0:
            raise InputError(f"text.sample={self.sample}: must not be negative")
        choose(FORMS, self.normalise, "text.normalise")
        self.columns = check_columns(self.columns, ("text", "time"))
        check_split(self.split, (ORDERED, HASH, TIME))


@dataclass
class Spans:
    """The ids of a text, and where each token begins and ends (characters)."""

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


class IdWriter:
    """Collects the ids of a text while a tokenizer learns it; here in memory.

    `tasks/language_modelling/id_files.py` has one that writes to a file and continues where an
    interrupted reading stopped.
    """

    is_large: ClassVar[bool] = False  # whether the text may be larger than memory

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []

    def remaining(self, blocks: Iterable[str]) -> Iterable[str]:
        """The blocks whose ids are still missing."""
        return blocks

    def known(self) -> list[str]:
        """The words that the ids so far stand for, if they are preliminary numbers."""
        return []

    def append(self, ids: np.ndarray, new: Sequence[str] = ()) -> None:
        """Add the ids of the next block, and the words that were first seen in it."""
        self._parts.append(ids)

    def counts(self, size: int) -> np.ndarray:
        """How often each preliminary number occurs."""
        return sum((count_ids(part, size) for part in self._parts), np.zeros(size, np.int64))

    def renumber(self, table: np.ndarray) -> None:
        """Replace preliminary numbers by ids."""
        self._parts = [table[part] for part in self._parts]

    def finish(self) -> np.ndarray:
        """All ids."""
        return self._parts[0] if len(self._parts) == 1 else np.concatenate(self._parts)


class Prepared:
    """Blocks of text in the form that a tokenizer sees; can be iterated several times."""

    def __init__(self, blocks: Iterable[str], form: Callable[[str], str]) -> None:
        self._blocks = blocks
        self._form = form

    def __iter__(self) -> Iterator[str]:
        return map(self._form, self._blocks)


class Tokenizer(ABC):
    """Text to ids and back."""

    name: ClassVar[str]
    about: ClassVar[str]
    loses: ClassVar[str]  # what decode(encode(text)) loses; "" if nothing
    whole_words: ClassVar[bool] = False  # whether one token is one word or mark
    space_before_words: ClassVar[bool] = False  # the space before a word is part of its token
    samples: ClassVar[bool] = False  # whether it is trained on a sample of a large text

    tokens: list[str]  # a readable form of every token, by id
    eos_id: int = 0
    unknown_id: int | None = None
    normaliser: Normaliser = AS_IT_IS
    sample: Sample | None = None  # the part of the text that it was trained on; None: all of it

    def __init__(self, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    @classmethod
    def train(cls, text: str, config: TextConfig) -> Self:
        """Fit a tokenizer to a training text."""
        return cls.train_on([text], config)

    @classmethod
    def train_on(cls, blocks: Iterable[str], config: TextConfig) -> Self:
        """Fit a tokenizer to a text in blocks of whole lines, which is read more than once."""
        normaliser = Normaliser.learn(blocks, config.normalise)
        tokenizer = cls._train(Prepared(blocks, _former(normaliser, config)), config)
        tokenizer.normaliser = normaliser
        return tokenizer

    @classmethod
    def learn(cls, text: str, config: TextConfig) -> tuple[Self, np.ndarray]:
        """Fit a tokenizer to a training text; return it with the ids of that text."""
        writer = IdWriter()
        blocks = [*parts([text], _AT_ONCE)] or [text]
        return cls.learn_into(writer, blocks, config), writer.finish()

    @classmethod
    def learn_into(cls, writer: IdWriter, blocks: Iterable[str], config: TextConfig) -> Self:
        """Fit a tokenizer to a text in blocks, and write the ids of that text."""
        if config.sample is not None and not cls.samples:
            raise InputError(
                f"text.sample={config.sample}: applies to bpe and unigram, not to {cls.name}"
            )
        normaliser = Normaliser.learn(blocks, config.normalise)
        tokenizer = cls._learn_into(writer, blocks, _former(normaliser, config), config)
        tokenizer.normaliser = normaliser
        return tokenizer

    # Implemented by each kind of tokenizer, for text that is already normalised.

    @classmethod
    @abstractmethod
    def _train(cls, blocks: Iterable[str], config: TextConfig) -> Self: ...

    @classmethod
    def _learn_into(
        cls,
        writer: IdWriter,
        blocks: Iterable[str],
        form: Callable[[str], str],
        config: TextConfig,
    ) -> Self:
        tokenizer = cls._train(Prepared(blocks, form), config)
        for block in writer.remaining(blocks):
            writer.append(tokenizer._encode(form(block)))
        return tokenizer

    @abstractmethod
    def _encode(self, text: str) -> np.ndarray: ...

    @abstractmethod
    def _spans(self, text: str) -> Spans: ...

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids to text."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Everything needed to rebuild the tokenizer, as plain data."""

    @classmethod
    @abstractmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """Rebuild the tokenizer from this data."""

    def encode(self, text: str) -> np.ndarray:
        """Encode a text as ids, int64."""
        no_surrogates(text)
        if len(text) <= _AT_ONCE:
            return self._encode(self._in_form(text))
        found = [self._encode(self._in_form(part)) for part in parts([text], _AT_ONCE)]
        return np.concatenate(found)

    def spans(self, text: str) -> Spans:
        """Ids with their positions. Slower than `encode`; for texts that are shown to people."""
        no_surrogates(text)
        return self._located(text, self._spans(self._in_form(text)))

    def normalise(self, text: str) -> str:
        """The text as its tokens represent it: decoding gives this if all words are known."""
        return self._in_form(text)

    # Text as people type and read it. A raw-text tokenizer handles it as any text. `words.py`, for
    # tokenized text, separates marks and clitics, and joins them again.

    def typed_spans(self, text: str) -> Spans:
        """Ids of a typed text, and the position of each."""
        no_surrogates(text)
        return self._located(text, self._typed_spans(self._in_form(text)))

    def encode_typed(self, text: str) -> np.ndarray:
        """Ids of a typed text."""
        return self.encode(text)

    def _typed_spans(self, text: str) -> Spans:
        return self._spans(text)

    def prepare(self, text: str) -> str:
        """A typed text in the form of the training text."""
        return text

    def context(self, ids: Sequence[int]) -> Sequence[int]:
        """The last of these ids that affect how the next id is written."""
        # A character has at most four tokens, its bytes in UTF-8. One more token decides whether
        # there is a space before a word.
        return ids[-4:]

    def write(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """The text that new ids add after the earlier ones, as people write it."""
        before = self.context(before)
        return self.decode([*before, *ids])[len(self.decode(before)) :]

    def _in_form(self, text: str) -> str:
        return _cased(self.normaliser(text), self.lowercase)

    def _located(self, text: str, spans: Spans) -> Spans:
        """Positions in the original text, not in its normalised form."""
        if len(self.normaliser(text)) == len(text):
            return spans
        places = self.normaliser.places(text)
        return Spans(spans.ids, places[spans.starts], places[spans.ends])

    def token_texts(self) -> list[str]:
        """The text of every token by itself, by id, with the space before a word."""
        return [self.decode([number]) for number in range(len(self))]

    @cached_property
    def begins_word(self) -> np.ndarray | None:
        """Which tokens begin a new word or end the line, by id; None if all of them do.

        White space separates words. The space before a word is part of its first token, or is that
        token. A token such as the first byte of a no-break space cannot be told from the first byte
        of a letter, so it is not among them.
        """
        begins = np.array([text[:1].isspace() for text in self.token_texts()])
        begins[self.eos_id] = True
        return begins

    def single_id(self, text: str) -> int:
        """The id of a text that is a single known token, like `=` for characters."""
        ids = self.encode(text)
        if len(ids) != 1 or ids[0] == self.unknown_id:
            raise InputError(f"{text!r}: is not a single token of this vocabulary ({self.name})")
        return int(ids[0])

    def count_unknown(self, text: str, ids: np.ndarray) -> int:
        """The number of out-of-vocabulary tokens."""
        return 0 if self.unknown_id is None else int(np.count_nonzero(ids == self.unknown_id))

    def __len__(self) -> int:
        return len(self.tokens)


def split_lines(ids: Iterable[int], eos_id: int) -> list[list[int]]:
    """The ids of each line, without `<eos>`; one line more than line ends."""
    lines: list[list[int]] = [[]]
    for number in ids:
        if number == eos_id:
            lines.append([])
        else:
            lines[-1].append(int(number))
    return lines


def refuse_min_count(config: TextConfig, name: str) -> None:
    """Refuse `min_count` for a tokenizer without words."""
    if config.min_count:
        raise InputError(f"text.min_count={config.min_count}: does not apply to {name}")


def _former(normaliser: Normaliser, config: TextConfig) -> Callable[[str], str]:
    return lambda block: _cased(normaliser(block), config.lowercase)


def _cased(text: str, lowercase: bool) -> str:
    return lower(text) if lowercase else text


def lower(text: str) -> str:
    """Lower case, except for the one letter that would get longer, so that positions stay."""
    return "İ".join(part.lower() for part in text.split("İ"))


def count_vocabulary(
    counts: dict[str, int], config: TextConfig, min_count: int, reserved: int
) -> list[str]:
    """The tokens that are frequent enough, most frequent first, ties in alphabetical order."""
    smallest = smallest_count(config, min_count)
    ranked = sorted((-count, token) for token, count in counts.items() if count >= smallest)
    return [token for _, token in ranked[: words_to_keep(config, reserved)]]


def smallest_count(config: TextConfig, min_count: int) -> int:
    """How often a word must occur; `min_count` is the default of the tokenizer."""
    return config.min_count or min_count


def words_to_keep(config: TextConfig, reserved: int) -> int | None:
    """The largest number of words besides so many reserved tokens; None: no limit."""
    return None if config.vocabulary_size is None else max(config.vocabulary_size - reserved, 0)


class Ids(dict[str, int]):
    """Token to id; missing tokens get the unknown id."""

    def __init__(self, tokens: Iterable[str], unknown: int) -> None:
        super().__init__((token, number) for number, token in enumerate(tokens))
        self.unknown = unknown

    def __missing__(self, token: str) -> int:
        return self.unknown

    def of(self, tokens: list[str]) -> np.ndarray:
        """Ids of tokens, without a Python step per token."""
        return np.fromiter(map(self.__getitem__, tokens), dtype=np.int64, count=len(tokens))


def require_size(config: TextConfig, smallest: int, what: str) -> None:
    """Refuse a vocabulary smaller than the tokenizer needs."""
    if config.vocabulary_size is not None and config.vocabulary_size < smallest:
        raise InputError(
            f"text.vocabulary_size={config.vocabulary_size}: {what} needs at least {smallest}"
        )


def no_surrogates(text: str) -> bytes:
    """Encode a text as UTF-8; half characters (lone surrogates) are refused."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"character {error.start + 1} of the text is half a character "
            f"(U+{ord(text[error.start]):04X}), which has no UTF-8 form: remove it"
        ) from None


def count_ids(ids: np.ndarray, size: int) -> np.ndarray:
    """How often each id occurs; the ids may be in a file larger than memory."""
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(ids), _CHUNK):
        counts += np.bincount(ids[start : start + _CHUNK], minlength=size)
    return counts


def after_mark(ids: np.ndarray, mark: int, eos_id: int, until: int | None = None) -> np.ndarray:
    """Which ids come after a mark in their line, `<eos>` included; bool, same length.

    With `until`, only up to and including the next id of that value.
    """

    def last_before(number: int) -> np.ndarray:
        """The position of the last of these before each id; -1 if there is none."""
        places = np.where(ids == number, np.arange(len(ids)), -1)
        return np.concatenate([[-1], np.maximum.accumulate(places)[:-1]])

    marks = last_before(mark)
    after = marks > last_before(eos_id)
    return after if until is None else after & (marks > last_before(until))
