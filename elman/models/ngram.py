"""The n-gram language model: smoothed counts with the contract of language models.

A state is the last order - 1 ids of each row (`counted.py`). Fitting and saving need no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from elman.counts.compact import array_parts, compact, stored_array
from elman.counts.estimate import NgramConfig, estimate
from elman.counts.masses import SetMass
from elman.counts.resources import Need, estimate_need
from elman.counts.smoothers import SMOOTHERS
from elman.counts.spread import entropies_and_ranks
from elman.counts.tables import OrderTable, Tables
from elman.models.counted import CountedModel, rows_of, tensor
from elman.registry import known_options
from elman.runs.parts import MappedArrays

if TYPE_CHECKING:
    import torch

_NUMBERS = 1 << 22  # of whole distributions held in memory


class NGram(CountedModel):
    """Predict words from the last few words, by counts (Shannon 1948)."""

    config_class: ClassVar[type] = NgramConfig
    about: ClassVar[str] = "smoothed counts of word sequences"
    counts_on_disk: ClassVar[bool] = True
    numbers_at_once = 1 << 6  # no whole distribution
    rows_at_once = 1 << 12  # contexts that occur in several rows are measured once

    def __init__(self, tables: Tables, config: NgramConfig) -> None:
        sizes = {"vocabulary_size": tables.vocabulary_size, "eos_id": tables.eos_id}
        super().__init__(config, **sizes, reach=max(tables.order - 1, 1))
        self.tables = tables
        smoother = SMOOTHERS.get(config.smoothing)
        cut = any(count > 1 for count in config.cutoffs)  # cut contexts back off
        smoothed = smoother is None or smoother.defined_if_unseen
        self.always_defined = smoothed or tables.order == 1 or cut
        self._mass: tuple[bytes, SetMass] | None = None  # of the last set that was asked for

    @classmethod
    def fit(
        cls,
        ids: np.ndarray,
        config: NgramConfig,
        *,
        vocabulary_size: int,
        eos_id: int,
        progress: Callable[[str], None] = lambda what: None,
    ) -> NGram:
        """Train the model on a text."""
        tables = estimate(
            ids, config, vocabulary_size=vocabulary_size, eos_id=eos_id, progress=progress
        )
        return cls(tables, config)

    @classmethod
    def orders(cls, config: NgramConfig) -> int:
        return config.order

    @classmethod
    def need(
        cls, ids: np.ndarray, config: NgramConfig, *, eos_id: int, tokens: int | None = None
    ) -> Need:
        return estimate_need(
            ids, order=config.order, eos_id=eos_id, context=config.context, tokens=tokens
        )

    def score_rows(self, rows: np.ndarray) -> np.ndarray:
        log_probs = self.tables.score(rows)[:, self.context_size - 1 :]
        if not self.always_defined:
            log_probs[self._unseen(rows)] = -np.inf
        return log_probs

    def _unseen(self, rows: np.ndarray) -> np.ndarray:
        unseen = self.tables.unseen_contexts(rows, lines=self.resets_at_lines)
        return unseen[:, self.context_size - 1 :]

    def predict_rows(self, contexts: np.ndarray) -> np.ndarray:
        log_probs = self.tables.predict(contexts)
        if not self.always_defined:
            rows = np.concatenate([contexts, contexts[:, -1:]], axis=1)  # any word may follow
            log_probs[self._unseen(rows)[:, 0]] = -np.inf
        return log_probs

    # The contract ---------------------------------------------------------------------------------

    def undefined(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if self.always_defined:
            return super().undefined(ids, state)  # type: ignore[return-value]
        unseen = self._unseen(rows_of(state, ids))
        return tensor(unseen.copy()), self.read(ids, state)

    def score_and_mass(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = rows_of(state, ids)
        contexts = np.lib.stride_tricks.sliding_window_view(rows[:, :-1], self.context_size, axis=1)
        masses = self._mass_of(members.numpy()).log_masses(contexts.reshape(-1, self.context_size))
        masses = masses.reshape(ids.shape)
        if not self.always_defined:
            masses[self._unseen(rows)] = -np.inf
        log_probs, state = self.score(ids, state)
        return log_probs, tensor(masses), state

    def _mass_of(self, members: np.ndarray) -> SetMass:
        """The masses of a set; those of the last set are kept, with the contexts seen so far."""
        key = members.tobytes()
        if self._mass is None or self._mass[0] != key:
            self._mass = key, SetMass(self.tables, members)
        return self._mass[1]

    def spread(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor, members: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if members is not None:
            return self._spread_of_distributions(ids, state, members)
        rows, before = rows_of(state, ids), self.context_size - 1
        log_probs = self.tables.score(rows)
        entropies, ranks = entropies_and_ranks(self.tables, rows, log_probs)
        nothing = np.zeros_like(log_probs)
        measured = np.stack([log_probs, nothing, entropies, ranks], axis=2)[:, before:]
        if not self.always_defined:  # every word has probability zero there
            measured[self._unseen(rows)] = [-np.inf, 0, 0, 1]
        return tensor(measured), self.read(ids, state)

    def _spread_of_distributions(
        self, ids: torch.Tensor, state: torch.Tensor, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The same by whole distributions: a few rows and tokens at a time."""
        rows = max(1, _NUMBERS // len(members))
        if len(ids) > rows:
            some = zip(ids.split(rows), state.split(rows), strict=True)  # type: ignore[no-untyped-call]
            found = [self._spread_of_distributions(*part, members) for part in some]
            values, states = (np.concatenate(part) for part in zip(*found, strict=True))
            return tensor(values), tensor(states)
        measured = []
        at_once = max(1, _NUMBERS // (len(ids) * len(members)))
        for piece in ids.split(at_once, dim=1):  # type: ignore[no-untyped-call]
            columns, state = super().spread(piece, state, members)  # type: ignore[assignment]
            measured.append(columns.numpy())
        return tensor(np.concatenate(measured, axis=1)), state

    # Saving and loading ---------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        named: dict[str, np.ndarray] = {}
        for order, table in enumerate(self.tables.tables, start=1):
            named |= array_parts(f"order{order}.log_probs", table.log_probs)
            if order < self.tables.order:
                named |= array_parts(f"order{order}.log_backoffs", table.log_backoffs)
            if order > 1:
                named |= array_parts(f"order{order}.starts", self.tables.starts(order))
                words = table.words if table.words.itemsize <= 4 else table.words.astype(np.int32)
                named[f"order{order}.words"] = words
            if table.counts is not None:
                named[f"order{order}.counts"] = table.counts
        return named

    def quantised(self, bits: int = 8) -> NGram:
        """The same model with probabilities of 8 or 32 bits."""
        return NGram(compact(self.tables, bits), self.config)

    def facts(self) -> dict[str, Any]:
        return {
            "vocabulary_size": self.vocabulary_size,
            "eos_id": self.tables.eos_id,
            "ngrams": [len(table) for table in self.tables.tables],
            "discounts": self.tables.discounts,
            "notes": self.tables.notes,
        }

    @classmethod
    def restore(
        cls, config: NgramConfig, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
    ) -> NGram:
        """Restore the model from its arrays and facts.

        Arrays in memory are checked in full. Of arrays that are mapped from a file, only a few
        numbers are read.
        """
        size, counts = facts["vocabulary_size"], facts["ngrams"]
        if not counts or counts[0] != size or not 0 <= facts["eos_id"] < size:
            raise ValueError(f"a vocabulary of {size:,} has other n-grams of order 1")
        tables = [_stored_table(arrays, order, counts) for order in range(1, len(counts) + 1)]
        for below, table in zip([None, *tables], tables, strict=False):
            _check_outline(table, below)
            if not isinstance(arrays, MappedArrays):
                _check_table(table, size, below)
        return cls(
            Tables(tables, size, facts["eos_id"], list(facts["notes"]), facts["discounts"]), config
        )

    @classmethod
    def training_rows(cls, facts: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
        """The n-grams of every order, with their discounts."""
        every = facts["discounts"] or [[]] * len(facts["ngrams"])
        rows: list[list[Any]] = [
            [order, count, *(f"{value:.3f}" for value in discounts)]
            for order, (count, discounts) in enumerate(zip(facts["ngrams"], every, strict=True), 1)
        ]
        width = max(len(row) for row in rows)
        names = [f"D{i}" if i < width - 2 else f"D{i}+" for i in range(1, width - 1)]
        padded = [row + [None] * (width - len(row)) for row in rows]
        return ["order", "n-grams", *names], padded

    @staticmethod
    def renew_settings(model: dict[str, Any], weights: Collection[str]) -> dict[str, Any]:
        """The settings of an older run under their current names."""
        if NgramConfig.moved.keys().isdisjoint(model):
            return model
        smoother = SMOOTHERS.get(model.get("smoothing", ""))
        known = known_options(smoother) if smoother else {}
        options = {name: model[name] for name in NgramConfig.moved if name in known}
        fields = {name: model[name] for name in model if name not in NgramConfig.moved}
        return {**fields, "options": options}

    def describe(self) -> dict[str, Any]:
        return {
            "model": "ngram",
            "order": self.tables.order,
            "smoothing": self.config.smoothing,
            "context": self.config.context,
            **self.facts(),
        }


def _stored_table(arrays: Mapping[str, np.ndarray], order: int, counts: list[int]) -> OrderTable:
    """The table of an order; older runs hold the prefix of each n-gram instead of the starts."""
    count, name = counts[order - 1], f"order{order}"
    lowest = order == 1
    log_backoffs = stored_array(f"{name}.log_backoffs", arrays)
    found = {
        "words": np.arange(count) if lowest else arrays[f"{name}.words"],
        "log_probs": stored_array(f"{name}.log_probs", arrays),
        "log_backoffs": np.zeros(count) if log_backoffs is None else log_backoffs,
        "counts": arrays.get(f"{name}.counts"),
        "prefixes": np.zeros(count, np.int32) if lowest else arrays.get(f"{name}.prefixes"),
    }
    for what, array in found.items():
        if array is not None and len(array) != count:
            raise ValueError(f"{name}.{what} holds {len(array):,} numbers, not {count:,}")
    starts = None if lowest else stored_array(f"{name}.starts", arrays)
    if starts is not None and len(starts) != counts[order - 2] + 1:
        raise ValueError(f"{name}.starts holds {len(starts):,} numbers")
    if found["log_probs"] is None or (starts is None and found["prefixes"] is None):
        raise KeyError(f"{name}.log_probs or .starts")
    return OrderTable(**found, starts=starts)


def _check_outline(table: OrderTable, below: OrderTable | None) -> None:
    """Raise a ValueError if the types of the arrays or the ends of the starts are wrong."""
    for values in (table.log_probs, table.log_backoffs):
        if values[:1].dtype.kind != "f":
            raise ValueError("log probabilities are missing")
    if table.counts is not None and table.counts.dtype.kind not in "iuf":
        raise ValueError("counts of n-grams are not numeric")
    if table.words.dtype.kind not in "iu":
        raise ValueError("words are not numbers of the vocabulary")
    if table.starts is not None:
        first, last = table.starts[np.array([0, len(table.starts) - 1])]
        if (first, last) != (0, len(table)):
            raise ValueError("the beginning of an n-gram is missing from the lower order")


def _check_table(table: OrderTable, size: int, below: OrderTable | None) -> None:
    """Raise a ValueError if the arrays of an order are inconsistent; `below` is the lower order."""
    for values in (table.log_probs, table.log_backoffs):
        if np.isnan(values).any():
            raise ValueError("log probabilities are NaN")
    if below is None or not len(table):
        return
    if table.words.min() < 0 or table.words.max() >= size:
        raise ValueError("an n-gram has a word that is not in the vocabulary")
    links = table.prefixes if table.starts is None else np.asarray(table.starts)
    most = len(below) - 1 if table.starts is None else len(table)
    if links[0] < 0 or links[-1] > most or (links[1:] < links[:-1]).any():
        raise ValueError("the beginning of an n-gram is missing from the lower order")
