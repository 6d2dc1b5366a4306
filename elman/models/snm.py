"""The sparse non-negative matrix language model: n-grams and skip-grams that add up.

The features of a context (`counts/skip_grams.py`) each own a sparse row of non-negative weights
over the vocabulary (`counts/adjustments.py`); a prediction is the sum of the rows of the features
that hold, divided by its total. The total is a sum of known row totals, so scoring a text needs no
whole distribution.

A state is the last `reach` ids of each row, (B, reach), with -1 for positions not filled, as in the
n-gram model. torch is imported only when the contract is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from elman.config import at_least
from elman.counts.adjustments import learn_adjustments
from elman.counts.resources import Need, grown, need_of
from elman.counts.skip_grams import (
    FeatureTable,
    Offsets,
    bar,
    count_features,
    feature_offsets,
    walk_features,
    words_before,
)
from elman.errors import InputError
from elman.models.counted import CountedModel

_SAMPLE = 1 << 18  # tokens from which the number of weights is extrapolated
_ORDERS = 2  # of n-grams, whose memory one kind of feature takes while it is trained
_PARTS = ("keys", "starts", "words", "values")  # of a table of features


@dataclass(kw_only=True)
class SparseMatrixConfig:
    """A sparse non-negative matrix model."""

    order: int = 5  # length of the longest n-gram: context words plus one
    skip: int = 4  # the most words that a skip-gram leaves out; 0: n-grams only
    skip_words: int = 2  # the most context words of a skip-gram
    steps: int = 30  # gradient steps that train the adjustments
    prior: float = 10.0  # how strongly adjustments of single words and features stay near zero
    context: str = "line"  # "line": contexts stop at line starts; "stream": they continue

    def __post_init__(self) -> None:
        if not 1 <= self.order <= 20:
            raise InputError(f"model.order={self.order}: choose from 1 to 20")
        if not 0 <= self.skip <= 100:
            raise InputError(f"model.skip={self.skip}: choose from 0 to 100")
        if not 1 <= self.skip_words <= 20:
            raise InputError(f"model.skip_words={self.skip_words}: choose from 1 to 20")
        at_least(self.steps, 1, "model.steps")
        if not 0 <= self.prior < np.inf:
            raise InputError(f"model.prior={self.prior}: must not be negative")
        if self.context not in ("line", "stream"):
            raise InputError(f"model.context={self.context!r}: choose 'line' or 'stream'")

    def kinds(self) -> list[Offsets]:
        """The kinds of features."""
        return feature_offsets(self.order, self.skip, self.skip_words)


class SparseMatrix(CountedModel):
    """Add up what n-grams and skip-grams predict (Shazeer, Pelemans and Chelba 2015)."""

    config_class: ClassVar[type] = SparseMatrixConfig
    about: ClassVar[str] = "weighted n-grams and skip-grams (Shazeer et al. 2015)"
    config: SparseMatrixConfig

    def __init__(
        self,
        tables: list[FeatureTable],
        uniform: float,
        config: SparseMatrixConfig,
        *,
        vocabulary_size: int,
        eos_id: int,
        perplexity: float,
    ) -> None:
        reach = max((max(table.offsets, default=1) for table in tables), default=1)
        super().__init__(config, vocabulary_size=vocabulary_size, eos_id=eos_id, reach=reach)
        self.kinds = tables
        self.totals = [table.totals for table in tables]
        self.uniform = uniform  # the weight of the uniform distribution
        self.perplexity = perplexity  # of the training text, each word left out

    @classmethod
    def fit(
        cls,
        ids: np.ndarray,
        config: SparseMatrixConfig,
        *,
        vocabulary_size: int,
        eos_id: int,
        progress: Callable[[str], None] = lambda what: None,
    ) -> SparseMatrix:
        """Train the model on a text."""
        progress("counting")
        known = {"vocabulary_size": vocabulary_size, "eos_id": eos_id}
        counted = [*count_features(ids, config.kinds(), context=config.context, **known)]
        adjusted = learn_adjustments(
            counted,
            len(ids),
            vocabulary_size=vocabulary_size,
            steps=config.steps,
            prior=config.prior,
            progress=progress,
        )
        perplexity = adjusted.perplexity
        return cls(adjusted.tables, adjusted.uniform, config, perplexity=perplexity, **known)

    @classmethod
    def orders(cls, config: SparseMatrixConfig) -> int:
        return _ORDERS * len(config.kinds())

    @classmethod
    def need(
        cls, ids: np.ndarray, config: SparseMatrixConfig, *, eos_id: int, tokens: int | None = None
    ) -> Need:
        sample = ids[:_SAMPLE]
        known = {"vocabulary_size": int(ids.max(initial=0)) + 1, "eos_id": eos_id}
        half, found = (
            sum(len(one.table.words) for one in counted)
            for counted in (
                count_features(part, config.kinds(), context=config.context, **known)
                for part in (sample[: len(sample) // 2], sample)
            )
        )
        whole = len(ids) if tokens is None else tokens
        return need_of(grown(half, found, whole / max(len(sample), 1)), whole)

    def score_rows(self, rows: np.ndarray) -> np.ndarray:
        words = rows[:, self.context_size :]
        own = np.full(words.shape, self.uniform / self.vocabulary_size)
        total = np.full(words.shape, self.uniform)
        for table, totals, places, features in self._active(rows):
            total.flat[places] += totals[features]
            entries = table.find_entries(features, words.flat[places])
            found = np.flatnonzero(entries >= 0)
            own.flat[places[found]] += table.values[entries[found]]
        return np.log(own) - np.log(total)

    def predict_rows(self, contexts: np.ndarray) -> np.ndarray:
        size = self.vocabulary_size
        weights = np.full((len(contexts), size), self.uniform / size)
        total = np.full(len(contexts), self.uniform)
        rows = np.concatenate([contexts, contexts[:, -1:]], axis=1)  # any word may follow
        for table, totals, places, features in self._active(rows):
            total[places] += totals[features]
            lengths = table.starts[features + 1] - table.starts[features]
            ends = np.cumsum(lengths)
            entries = np.arange(ends[-1] if len(ends) else 0)
            entries += np.repeat(table.starts[features] - ends + lengths, lengths)
            # Each row has a word once per table, so no index occurs twice.
            weights[np.repeat(places, lengths), table.words[entries]] += table.values[entries]
        return np.log(weights) - np.log(total)[:, None]

    def _active(self, rows: np.ndarray) -> Any:
        """For each kind of feature: its table, row totals, the flat places that have a known
        feature of this kind, and its numbers.
        """
        before = words_before(rows, self.context_size, bar(self.eos_id, self.config.context))
        walked = walk_features(self.kinds, before, self.vocabulary_size)
        for (table, features), totals in zip(walked, self.totals, strict=True):
            places = np.flatnonzero(features >= 0)
            yield table, totals, places, features.flat[places]

    # Saving and loading ---------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        named = {"uniform": np.array([self.uniform])}
        for number, table in enumerate(self.kinds):
            for what in _PARTS:
                named[f"kind{number}.{what}"] = getattr(table, what)
        return named

    def facts(self) -> dict[str, Any]:
        return {
            "vocabulary_size": self.vocabulary_size,
            "eos_id": self.eos_id,
            "offsets": [list(table.offsets) for table in self.kinds],
            "features": [len(table) for table in self.kinds],
            "ngrams": [len(table.words) for table in self.kinds],
            "left_out_perplexity": self.perplexity,
        }

    @classmethod
    def restore(
        cls, config: SparseMatrixConfig, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> SparseMatrix:
        """Restore the model from its arrays and facts."""
        size, eos_id, uniform = facts["vocabulary_size"], facts["eos_id"], arrays["uniform"]
        if not 0 <= eos_id < size or uniform.shape != (1,) or not 0 < uniform[0] < np.inf:
            raise ValueError("the vocabulary or the weight of the uniform distribution")
        found: dict[Offsets, FeatureTable] = {}
        for number, offsets in enumerate(config.kinds()):
            parts = {what: np.asarray(arrays[f"kind{number}.{what}"]) for what in _PARTS}
            found[offsets] = FeatureTable(offsets, **parts)
            shorter = 1 if len(offsets) < 2 else len(found[offsets[:-1]])
            _check(found[offsets], shorter * size if offsets else 1, size)
        perplexity = facts["left_out_perplexity"]
        return cls(
            [*found.values()],
            float(uniform[0]),
            config,
            vocabulary_size=size,
            eos_id=eos_id,
            perplexity=perplexity,
        )

    @classmethod
    def training_rows(cls, facts: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
        """The features of every kind and their entries."""
        columns = facts["offsets"], facts["features"], facts["ngrams"]
        rows = [
            [_pattern(offsets), features, entries]
            for offsets, features, entries in zip(*columns, strict=True)
        ]
        return ["context", "features", "weights"], rows

    def describe(self) -> dict[str, Any]:
        return {
            "model": "snm",
            "order": self.config.order,
            "skip": self.config.skip,
            "context": self.config.context,
            **self.facts(),
        }


def _pattern(offsets: list[int]) -> str:
    """How a kind of feature looks in a text, like `w _ w ?`: w is seen, _ is skipped."""
    seen = ["w" if offset in offsets else "_" for offset in range(max(offsets, default=0), 0, -1)]
    return " ".join([*seen, "?"])


def _check(table: FeatureTable, keys: int, size: int) -> None:
    """Raise a ValueError if the arrays of a kind are inconsistent; `keys` is the bound of keys."""
    whole = (table.keys, table.starts, table.words)
    if any(array.ndim != 1 or array.dtype.kind != "i" for array in whole):
        raise ValueError("features are not whole numbers")
    if len(table.starts) != len(table.keys) + 1 or len(table.values) != len(table.words):
        raise ValueError("the arrays of a kind of feature differ in length")
    if not _rise(table.keys, 0, keys) or (np.diff(table.keys) == 0).any():
        raise ValueError("features are not sorted")
    if not _rise(table.starts, 0, len(table.words) + 1) or table.starts[0] != 0:
        raise ValueError("the words of a feature are not where they should be")
    if table.starts[-1] != len(table.words):
        raise ValueError("the words of a feature are not where they should be")
    if len(table.words) and not (table.words.min() >= 0 and table.words.max() < size):
        raise ValueError("a word is not in the vocabulary")
    if (
        table.values.dtype.kind != "f"
        or not (np.isfinite(table.values) & (table.values >= 0)).all()
    ):
        raise ValueError("weights are negative, infinite or missing")


def _rise(numbers: np.ndarray, least: int, bound: int) -> bool:
    """Whether whole numbers never fall and are from `least` to before `bound`."""
    if not len(numbers):
        return True
    return bool(numbers[0] >= least and numbers[-1] < bound and (np.diff(numbers) >= 0).all())
