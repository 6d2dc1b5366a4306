"""Columns of numbers over the words of many sentences, for tables of stimuli.

Takes a model, a tokenizer and sentences as lists of words (or regions); gives one number per word
in every column, in nats. Every sentence is a line of its own; its line end does not count. All
sentences are one batch: equal sentences are scored once, and there is no step per word in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elman.evaluation.measures import BEAM, Progress, Reading, silent
from elman.evaluation.next_words import NextWords, predict_words
from elman.evaluation.word_boundaries import TokenColumns, corrected
from elman.models.contract import LanguageModel
from elman.text.tokenizer import Tokenizer

_SIDE_BY_SIDE = 32  # sentences, if whole distributions are computed
_MANY = 256  # sentences, if not


@dataclass(frozen=True)
class SentenceWords:
    """One number per word; NaN for words of spaces only and words without a token."""

    surprisal: np.ndarray
    surprisal_uncorrected: np.ndarray
    tokens: np.ndarray
    unknown: np.ndarray  # 1 if the word has an out-of-vocabulary token
    entropy: np.ndarray | None = None  # before the first token
    next_word_entropy: np.ndarray | None = None  # over whole words
    remaining_mass: np.ndarray | None = None
    entropy_reduction: np.ndarray | None = None
    word_rank: np.ndarray | None = None

    def columns(self) -> dict[str, np.ndarray]:
        """The columns that were computed, by name."""
        return {name: values for name, values in vars(self).items() if values is not None}


def sentence_words(
    model: LanguageModel,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    *,
    entropy: bool = True,
    next_word: bool = False,
    beam: int = BEAM,
    progress: Progress = silent,
) -> SentenceWords:
    """The columns over all words of all sentences, in order.

    entropy: False is faster, because no whole distribution is computed. next_word: also compute the
    columns about the next word as a whole, with a beam.
    """
    text, ends = join_sentences(sentences)
    spans = tokenizer.typed_spans(text)
    if not len(spans.ids):
        nothing = np.full(sum(map(len, sentences)), np.nan)
        return SentenceWords(nothing, nothing, np.zeros(len(nothing)), np.zeros(len(nothing)))
    whole = entropy or next_word
    reading = Reading("line", batch_size=_SIDE_BY_SIDE if whole else _MANY)
    columns = TokenColumns(model, tokenizer, spans.ids, reading, entropy=whole, progress=progress)
    owners = np.searchsorted(ends, spans.ends)  # the first part that ends no earlier
    firsts = np.searchsorted(owners, np.arange(len(ends) + 1))
    tokens = np.diff(firsts)
    empty = np.where(tokens > 0, 0.0, np.nan)
    sums = np.bincount(owners, weights=-columns.log_probs, minlength=len(ends)) + empty
    strange = np.bincount(owners, weights=spans.ids == tokenizer.unknown_id, minlength=len(ends))
    found = {
        "surprisal": corrected(sums, columns.corrections(firsts[:-1], firsts[1:])),
        "surprisal_uncorrected": sums,
        "tokens": tokens.astype(float),
        "unknown": (strange > 0).astype(float),
    }
    if columns.entropies is not None and columns.ranks is not None:
        first = np.minimum(firsts[:-1], len(spans.ids) - 1)
        entropies = columns.entropies[first] + empty
        if entropy:
            found["entropy"] = entropies
        if next_word:
            predicted = predict_words(model, tokenizer, spans.ids, firsts, "line", beam)
            ranks = np.where(tokens == 1, columns.ranks[first], np.nan)
            if predicted is None:  # a token is a word
                found |= _next_word_columns(entropies, np.zeros(len(ends)), ranks)
            else:
                starts = np.concatenate([[0], ends[:-1]]).tolist()
                words = [text[a:b].strip() for a, b in zip(starts, ends.tolist(), strict=True)]
                found |= _spelled_columns(predicted.before, words, found["surprisal"])
    places = _places(sentences)
    return SentenceWords(**{name: _spread(values, *places) for name, values in found.items()})


def join_sentences(sentences: Sequence[Sequence[str]]) -> tuple[str, np.ndarray]:
    """Join all sentences to one text; also the end of each part and of each line."""
    pieces: list[str] = []
    ends: list[int] = []
    length = 0
    for sentence in sentences:
        parts = [" ".join(part.split()) for part in sentence if part.strip()]
        for number, part in enumerate(parts):
            piece = f" {part}" if number else part
            pieces.append(piece)
            length += len(piece)
            ends.append(length)
        pieces.append("\n")
        length += 1
        ends.append(length)
    return "".join(pieces), np.array(ends)


def _spelled_columns(
    predicted: list[NextWords], words: list[str], surprisals: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns about whole words that a beam has spelled."""
    entropies = np.array([one.entropy for one in predicted])
    mass = np.array([one.remaining for one in predicted])
    shares = np.exp(-surprisals).tolist()
    ranks = [
        one.rank_of(word, share) for one, word, share in zip(predicted, words, shares, strict=True)
    ]
    known = np.array([np.nan if rank is None else rank for rank in ranks])
    return _next_word_columns(entropies, mass, known)


def _next_word_columns(
    entropies: np.ndarray, mass: np.ndarray, ranks: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns about whole words; a word is followed by another, or by its line end."""
    return {
        "next_word_entropy": entropies,
        "remaining_mass": mass,
        "entropy_reduction": np.append(entropies[:-1] - entropies[1:], np.nan),
        "word_rank": ranks,
    }


def _places(sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Which words have text, and for those their number among all parts and line ends."""
    has_text = [bool(part.strip()) for sentence in sentences for part in sentence]
    lines = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    with_text = np.array(has_text, dtype=bool)
    return with_text, np.cumsum(with_text)[with_text] - 1 + lines[with_text]


def _spread(values: np.ndarray, with_text: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The values of all words, NaN where there is no text."""
    result = np.full(len(with_text), np.nan)
    result[with_text] = values[numbers]
    return result
