"""Surprisal, entropy and rank of every word of a text.

Takes a model, a tokenizer and a text; gives one row per word. A word is a string between white
space, so word, sub-word and character models give the same kind of table. Its surprisal is that of
the whole word (`word_boundaries.py`); the uncorrected one is the sum over its tokens, including the
space before the word. The uncorrected surprisals of the rows sum to the surprisal of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elman.evaluation.measures import BEAM, Progress, Reading, silent
from elman.evaluation.next_words import WordPredictions, predict_words
from elman.evaluation.prefix_tree import score_lines
from elman.evaluation.scoring import each_spread
from elman.evaluation.sentence_words import join_sentences
from elman.evaluation.word_boundaries import TokenColumns, corrected
from elman.models.contract import LanguageModel
from elman.notebooks import Table, Tabular, records_table, shaded_html
from elman.text.tokenizer import EOS, Spans, Tokenizer


@dataclass(frozen=True)
class WordSurprisal:
    """One row of the table. Columns that were not requested are None."""

    line: int  # from 1
    position: int  # position of the word in its line, from 1
    word: str
    surprisal: float  # of the whole word
    surprisal_uncorrected: float  # the sum over its tokens
    entropy: float | None  # entropy of the distribution before its first token
    rank: int | None  # rank in that distribution, 1 = most probable; None for several tokens
    tokens: int
    unknown: bool
    undefined: bool = False  # no probability, because of an unseen context (maximum likelihood)
    next_word_entropy: float | None = None  # entropy over whole words, before this one
    remaining_mass: float | None = None  # probability of the words that the beam has not found
    entropy_reduction: float | None = None  # that entropy less the one before the next word
    word_rank: int | None = None  # rank among whole words; None if the beam cannot tell


class SurprisalTable(list[WordSurprisal], Tabular):
    """The rows of a text: coloured words in a notebook."""

    def as_table(self) -> Table:
        """One row per word."""
        return records_table([vars(row) for row in self])

    def _repr_html_(self) -> str:
        words = [
            ("\n" if row.word == EOS else row.word, row.surprisal, f"{row.surprisal:.2f}")
            for row in self
        ]
        finite = [row.surprisal for row in self if math.isfinite(row.surprisal)]
        return shaded_html(words, max(finite, default=0.0))


def word_surprisals(
    model: LanguageModel,
    tokenizer: Tokenizer,
    text: str,
    *,
    base: float = 2.0,
    reset: str = "line",
    entropy: bool = True,
    next_word: bool = False,
    beam: int = BEAM,
    progress: Progress = silent,
) -> SurprisalTable:
    """The table of a text; `base` of the logarithm: 2 for bits, e for nats.

    entropy: False is faster, because no whole distribution is computed. next_word: also compute the
    columns about the next word as a whole; `beam` words are spelled side by side.
    """
    spans = tokenizer.typed_spans(text)
    if len(spans.ids) == 0:
        return SurprisalTable()
    reading = Reading(reset, batch_size=1 if reset == "stream" else _SIDE_BY_SIDE)
    columns = TokenColumns(
        model, tokenizer, spans.ids, reading, entropy=entropy or next_word, progress=progress
    )
    words, rows = _words_of(text, spans)
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    unit = math.log(base)
    table = _table(columns, tokenizer, spans, [words[row] for row in rows[firsts]], firsts, unit)
    if next_word:
        numbers = np.append(firsts, len(spans.ids))
        predicted = predict_words(model, tokenizer, spans.ids, numbers, reset, beam)
        table = _with_next_words(table, predicted, unit)
        if not entropy:
            table = [replace(row, entropy=None) for row in table]
    return SurprisalTable(table)


def _words_of(text: str, spans: Spans) -> tuple[list[str], np.ndarray]:
    """The words and line ends of a text, and the word of each token."""
    # A text of spaces only is one row.
    places = list(re.finditer(r"\n|\S+", text)) or list(re.finditer(r".+", text))
    ends = np.array([place.end() for place in places])
    rows = np.minimum(np.searchsorted(ends, spans.ends), len(ends) - 1)
    return [place.group() for place in places], rows


def _table(
    columns: TokenColumns,
    tokenizer: Tokenizer,
    spans: Spans,
    words: list[str],
    firsts: np.ndarray,
    unit: float,
) -> list[WordSurprisal]:
    """One row per word, in units of `unit` nats."""
    lasts = np.append(firsts[1:], len(spans.ids))
    log_probs, entropies, ranks = columns.log_probs, columns.entropies, columns.ranks
    sums = -np.add.reduceat(log_probs, firsts)
    whole = corrected(sums, columns.corrections(firsts, lasts))
    # If no token is more probable than one of probability zero, all are impossible.
    lost = np.zeros(len(log_probs), dtype=bool)
    if ranks is not None:
        lost = np.isneginf(log_probs) & (ranks == 1)
    if entropies is not None:
        entropies = np.where(lost, math.inf, entropies / unit)
    unknown = spans.ids == (-1 if tokenizer.unknown_id is None else tokenizer.unknown_id)
    numbers = zip(
        (whole / unit).tolist(),
        (sums / unit).tolist(),
        _of_words(entropies, firsts),
        _of_words(ranks, firsts),
        lost[firsts].tolist(),
        (lasts - firsts).tolist(),
        np.logical_or.reduceat(unknown, firsts).tolist(),
        np.logical_or.reduceat(lost, firsts).tolist(),
        strict=True,
    )
    table: list[WordSurprisal] = []
    line, position = 1, 0
    for word, row in zip(words, numbers, strict=True):
        surprisal, uncorrected, entropy, rank, is_lost, tokens, is_unknown, is_undefined = row
        position += 1
        is_line_end = word == "\n"
        table.append(
            WordSurprisal(
                line=line,
                position=position,
                word=EOS if is_line_end else word,
                surprisal=surprisal,
                surprisal_uncorrected=uncorrected,
                entropy=entropy,
                rank=None if rank is None or is_lost or tokens > 1 else int(rank),
                tokens=tokens,
                unknown=is_unknown,
                undefined=is_undefined,
            )
        )
        line, position = (line + 1, 0) if is_line_end else (line, position)
    return table


def _of_words(values: np.ndarray | None, firsts: np.ndarray) -> list[float] | list[None]:
    """The values of the first tokens of words; None for each if there are none."""
    return [None] * len(firsts) if values is None else values[firsts].tolist()


def _with_next_words(
    table: list[WordSurprisal], predicted: WordPredictions | None, unit: float
) -> list[WordSurprisal]:
    """The rows with the columns about whole words; without predictions, each token is a word."""
    found = []
    for number, row in enumerate(table):
        if predicted is None:
            found.append(
                replace(row, next_word_entropy=row.entropy, remaining_mass=0.0, word_rank=row.rank)
            )
            continue
        words = predicted.before[number]
        found.append(
            replace(
                row,
                next_word_entropy=words.entropy / unit,
                remaining_mass=words.remaining,
                word_rank=words.rank_of(row.word, math.exp(-row.surprisal * unit)),
            )
        )
    after = [row.next_word_entropy for row in found[1:]]
    last = None if predicted is None else predicted.last
    after.append(None if last is None else last.entropy / unit)
    return [_with_reduction(row, entropy) for row, entropy in zip(found, after, strict=True)]


def _with_reduction(row: WordSurprisal, after: float | None) -> WordSurprisal:
    if row.word == EOS or after is None or row.next_word_entropy is None:
        return row
    return replace(row, entropy_reduction=row.next_word_entropy - after)


_SIDE_BY_SIDE = 32


@dataclass(frozen=True)
class Part:
    """The results of one part, in nats."""

    token_surprisals: tuple[float, ...]
    entropy: float  # entropy before its first token; NaN if not requested
    unknown_tokens: tuple[str, ...]  # as written in the text

    @property
    def unknown(self) -> bool:
        """Whether it has out-of-vocabulary tokens."""
        return bool(self.unknown_tokens)

    @property
    def surprisal(self) -> float:
        """The sum over its tokens: the chain rule."""
        return sum(self.token_surprisals)


def part_surprisals(
    model: LanguageModel,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    *,
    entropy: bool = True,
    progress: Progress = silent,
) -> list[list[Part | None]]:
    """The parts of every sentence; None for parts of spaces only and parts without a token.

    entropy: False is faster, because no whole distribution is computed.

        sentences  [["the boys", "walk", "."], …]   →   a `Part` for each, None for one without text

    Parts are words, regions or other pieces of a sentence, joined by spaces. The space before a
    part belongs to it, as above. Every sentence is a separate line, so sentences are independent.
    """
    text, ends = join_sentences(sentences)
    spans = tokenizer.typed_spans(text)
    if not len(spans.ids):
        return [[None for _ in sentence] for sentence in sentences]
    columns = _columns(model, spans.ids, tokenizer.eos_id, entropy, progress)
    owners = np.searchsorted(ends, spans.ends)  # the first part that ends no earlier
    firsts = np.searchsorted(owners, np.arange(len(ends)))
    lasts = np.searchsorted(owners, np.arange(len(ends)), side="right")
    unknown = np.flatnonzero(spans.ids == tokenizer.unknown_id)
    number = 0
    result: list[list[Part | None]] = []
    for sentence in sentences:
        row: list[Part | None] = []
        for part in sentence:
            if not part.strip():
                row.append(None)
                continue
            own = slice(firsts[number], lasts[number])
            strange = unknown[slice(*np.searchsorted(unknown, [own.start, own.stop]))]
            written = tuple(text[spans.starts[n] : spans.ends[n]].strip() for n in strange.tolist())
            row.append(_part(columns[own], written))
            number += 1
        result.append(row)
        number += 1  # the line end
    return result


def _columns(
    model: LanguageModel, ids: np.ndarray, eos_id: int, entropy: bool, progress: Progress
) -> np.ndarray:
    """Log probability of every token, and entropy before it."""
    if entropy:
        reading = Reading("line", batch_size=_SIDE_BY_SIDE)
        return each_spread(model, ids, eos_id, reading, progress)[:, [0, 2]]
    log_probs = score_lines(model, ids, eos_id=eos_id, progress=progress)
    return np.stack([log_probs, np.full(len(ids), np.nan)], axis=1)


def _part(columns: np.ndarray, unknown: tuple[str, ...]) -> Part | None:
    if not len(columns):
        return None
    return Part(tuple((-columns[:, 0]).tolist()), float(columns[0, 1]), unknown)
