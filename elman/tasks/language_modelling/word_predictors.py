"""Predictors of reading times for every word of some texts: length, frequency, model scores.

Takes the texts of a table and trained models, gives columns of numbers; called by
`reading_times.py`. Texts are scored once, however many subjects read them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from elman.evaluation.measures import Progress, silent
from elman.evaluation.surprisal import part_surprisals
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.corpora import open_corpus
from elman.text.reading_times import ReadingTable

SURPRISAL, ENTROPY = "surprisal", "entropy"
_MARKS = re.compile(r"^\W+|\W+$")
_PARTS = re.compile(r"[-–—'’]+")


def word_scores(
    model: TrainedModel,
    sentences: Sequence[Sequence[str]],
    *,
    base: float = 2.0,
    entropy: bool = True,
    progress: Progress = silent,
) -> dict[str, np.ndarray]:
    """Columns of numbers for the words of all sentences, one after the other.

    surprisal …   of the word       entropy   before it       unknown   1 if out of vocabulary
    """
    found = part_surprisals(
        model.model, model.tokenizer, sentences, entropy=entropy, progress=progress
    )
    parts = [part for sentence in found for part in sentence]
    unit = math.log(base)
    names = [SURPRISAL, "surprisal_uncorrected", *([ENTROPY] if entropy else [])]
    columns = {
        name: np.array([math.nan if part is None else getattr(part, name) for part in parts]) / unit
        for name in names
        if any(hasattr(part, name) for part in parts)
    }
    unknown = [float(part is not None and part.unknown) for part in parts]
    return columns | {"unknown": np.array(unknown)}


def count_frequencies(data: str) -> Counter[str]:
    """How often each word occurs in a text, or in the training split of a folder."""
    corpus = open_corpus(data)
    document = corpus.whole or corpus.split("train")
    return Counter(filter(None, map(_bare, document.text.split())))


def _bare(word: str) -> str:
    """A word in lower case, without the marks around it."""
    return _MARKS.sub("", word).lower()


def _log_frequency(word: str, counts: Counter[str]) -> float:
    """log (count + 1); a compound that was never counted has that of its rarest part."""
    bare = _bare(word)
    if bare in counts:
        return math.log1p(counts[bare])
    parts = [part for part in _PARTS.split(bare) if part]
    return math.log1p(min((counts[part] for part in parts), default=0))


class WordPredictors:
    """The words of all texts in one row, with their predictors."""

    def __init__(
        self,
        table: ReadingTable,
        counts: Counter[str] | None,
        scores: dict[str, dict[str, np.ndarray]],
    ) -> None:
        self.table = table
        self.scores = scores
        self.flat = [word for sentence in table.sentences for word in sentence]
        lengths = [len(sentence) for sentence in table.sentences]
        self.firsts = np.cumsum([0, *lengths[:-1]])
        self.sentence = np.repeat(np.arange(len(lengths)), lengths)
        self.position = np.concatenate([np.array(places) for places in table.positions])
        self.controls = {"length": np.array([float(len(word)) for word in self.flat])}
        if table.has_frequencies:
            frequency = np.full(len(self.flat), math.nan)
            for row in table.rows:
                frequency[self.firsts[row.sentence] + row.place] = row.log_frequency
            self.controls["frequency"] = frequency
        elif counts is not None:
            logs = {word: _log_frequency(word, counts) for word in set(self.flat)}
            self.controls["frequency"] = np.array([logs[word] for word in self.flat])

    def reaches(self, words: np.ndarray, back: int) -> np.ndarray:
        """Whether the word so many places back is in the same text, with no gap between."""
        before = np.maximum(words - back, 0)
        same = self.sentence[before] == self.sentence[words]
        return same & (self.position[before] == self.position[words] - back)

    def unknown(self) -> np.ndarray:
        """Whether any model does not know the word."""
        return np.any([scores["unknown"] > 0 for scores in self.scores.values()], axis=0)

    def defined(self) -> np.ndarray:
        """Whether all predictors of all models are finite numbers."""
        columns = [*self.controls.values()]
        for scores in self.scores.values():
            columns += [column for name, column in scores.items() if name != "unknown"]
        return np.all([np.isfinite(column) for column in columns], axis=0)
