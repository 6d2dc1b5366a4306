"""Start from pretrained word vectors: `--set model.vectors=FILE`, for every model with words.

FILE is a file of word2vec, GloVe or fastText (`formats/word_vectors.py`), or a run folder of
`elman train word2vec`. Takes the words of a vocabulary, gives a `Pretrained`, which a fresh model
starts from; called by the tasks. Words are found as they are written, or as the vocabulary
normalises them (lower case, digits alike). The other words start at random, at the same scale.

The file is read once, when the training starts. The vectors are weights of the model, so the run is
complete without the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elman.config import apply_overrides
from elman.errors import InputError
from elman.formats.word_vectors import open_word_vectors, read_word_vectors
from elman.runs.folder import read_run
from elman.tasks.saved_runs import check_arrays, explaining_misfits, kind_in
from elman.text.tokenizer import Tokenizer
from elman.text.word_list import WordList

_PARTS = ("config.json", "vocabulary.json", "facts.json", "weights.safetensors")
_FEW = 0.3  # share of the words; below it, something is probably wrong
_WORTH = 0.05  # share of the words that lower case must add to be worth a warning

Told = Callable[[str], None]


@dataclass(frozen=True)
class Pretrained:
    """Vectors of the words of a vocabulary."""

    numbers: np.ndarray  # ids of the words that were found
    vectors: np.ndarray  # (found, size)
    further_words: list[str]  # of the file that are not in the vocabulary, most frequent first
    further: np.ndarray  # (further, size)


def with_vector_size(overrides: Iterable[str]) -> list[str]:
    """Overrides with the size of the vectors that they name, unless they set one."""
    overrides = [*overrides]
    model = apply_overrides({}, overrides).get("model")
    if not isinstance(model, dict) or not model.get("vectors") or "embedding_size" in model:
        return overrides
    return [*overrides, f"model.embedding_size={_size(str(model['vectors']))}"]


def read_pretrained(
    name: str,
    words: Sequence[str],
    *,
    size: int,
    note: Told,
    warn: Told,
    normalise: Callable[[str], str] = lambda word: word,
    further: int = 0,
) -> Pretrained:
    """The vectors of words, and of up to `further` more; `note` and `warn` tell how many."""
    found_size = _size(name)
    if found_size != size:
        raise InputError(
            f"model.vectors={name}: has {found_size} numbers per word, the model {size}; add "
            f"--set model.embedding_size={found_size}"
        )
    search = _Search(words, normalise, further)
    read, vectors = _read(name, search)
    rows = {word: row for row, word in enumerate(read)}
    pairs = [(number, rows[word]) for number, word in search.chosen()]
    numbers = np.array([number for number, _ in pairs], dtype=np.int64)
    _tell(name, search, len(pairs), note, warn)
    return Pretrained(
        numbers,
        vectors[[row for _, row in pairs]],
        [*search.further],
        vectors[[rows[word] for word in search.further.values()]],
    )


def vectors_of_tokens(model: Any, tokenizer: Tokenizer, note: Told, warn: Told) -> Pretrained:
    """The vectors of the tokens of a language model, which must be words."""
    if not tokenizer.whole_words:
        raise InputError(
            f"model.vectors={model.vectors}: the tokens of {tokenizer.name!r} are not words; add "
            "--set text.tokenizer=words"
        )
    return read_pretrained(
        model.vectors,
        [token.strip() for token in tokenizer.tokens],
        size=model.embedding_size,
        note=note,
        warn=warn,
        normalise=tokenizer.normalise,
    )


class _Search:
    """Decides which words of a file are wanted."""

    def __init__(self, words: Sequence[str], normalise: Callable[[str], str], further: int) -> None:
        self._normalise = normalise
        self._most = further
        self.ids = {word: number for number, word in enumerate(words)}
        self._lower = {word.lower() for word in self.ids if word != word.lower()}
        self._exact: set[str] = set()
        self._alike: dict[str, str] = {}  # word of the vocabulary to the first like it in the file
        self.further: dict[str, str] = {}  # normalised word to the first like it in the file
        self.lowered: set[str] = set()

    def __call__(self, word: str) -> bool:
        if word in self._lower:
            self.lowered.add(word)
        if word in self.ids:
            self._exact.add(word)
            return True
        own = self._normalise(word)
        if own in self.ids:
            return own not in self._exact and self._alike.setdefault(own, word) == word
        new = own not in self.further and len(self.further) < self._most and own.split() == [own]
        return new and self.further.setdefault(own, word) == word

    def chosen(self) -> list[tuple[int, str]]:
        """The number of each word that was found, and its spelling in the file."""
        return [
            (number, word if word in self._exact else self._alike[word])
            for word, number in self.ids.items()
            if word in self._exact or word in self._alike
        ]

    def missing_without_lower_case(self) -> int:
        """How many words are there only in lower case."""
        missing = (word for word in self.ids if word not in self._exact | self._alike.keys())
        return sum(word.lower() in self.lowered for word in missing)


def _tell(name: str, search: _Search, found: int, note: Told, warn: Told) -> None:
    every = len(search.ids)
    more = len(search.further)
    joined = f"; {more:,} more of its words are added to the vocabulary" if more else ""
    note(f"{found:,} of {every:,} words found in {name}{joined}")
    lower = search.missing_without_lower_case()
    if lower > _WORTH * every:
        warn(
            f"model.vectors={name}: lower case would find {lower:,} more words; add "
            "--set text.lowercase=true"
        )
    elif found < _FEW * every:
        warn(
            f"model.vectors={name}: has only {found:,} of the {every:,} words; is it in the same "
            "language, tokenized the same way?"
        )


def _size(name: str) -> int:
    """Numbers per vector."""
    if Path(name).is_dir():
        return int(_read_run(name)[1].shape[1])
    return open_word_vectors(_existing(name)).size


def _read(name: str, search: _Search) -> tuple[list[str], np.ndarray]:
    """The wanted words and their vectors."""
    if not Path(name).is_dir():
        found = read_word_vectors(open_word_vectors(_existing(name)), search)
        return found.words, found.vectors
    words, table = _read_run(name)
    rows = [row for row, word in enumerate(words) if search(word)]
    return [words[row] for row in rows], table[rows]


def _existing(name: str) -> Path:
    if not Path(name).exists():
        raise InputError(
            f"model.vectors={name}: no such file; give vectors of word2vec, GloVe or fastText "
            "(.vec), or a run of elman train word2vec"
        )
    return Path(name)


def _read_run(name: str) -> tuple[list[str], np.ndarray]:
    """The words and vectors of a run folder."""
    path = Path(name)
    contents: dict[str, Any] = read_run(path, _PARTS, check_arrays)
    if not {"vocabulary.json", "weights.safetensors"} <= {*contents} or (
        "vectors.weight" not in contents["weights.safetensors"]
    ):
        raise InputError(
            f"model.vectors={name}: is a run of the model {kind_in(contents)!r}; give one of the "
            "recipe word2vec"
        )
    with explaining_misfits(path):
        words = WordList.from_data(contents["vocabulary.json"]["words"]).words[1:]
        return words, np.array(contents["weights.safetensors"]["vectors.weight"][1:])
