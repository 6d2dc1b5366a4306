"""The n-gram language model: smoothed counts with the contract of language models.

A state is the last order - 1 ids of each row, (B, order - 1), with -1 for positions not filled. The
initial state is the start of a line, so its last id is `<eos>`.

torch is imported only when the contract is first used: fitting and saving use numpy alone, and
importing torch takes longer than training this model on the Penn Treebank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from elman.counts.estimate import NgramConfig, estimate
from elman.counts.masses import SetMass
from elman.counts.smoothers import SMOOTHERS
from elman.counts.tables import NOTHING, OrderTable, Tables
from elman.models.contract import LanguageModel
from elman.registry import known_options

if TYPE_CHECKING:
    import torch


class NGram(LanguageModel):
    """Predict words from the last few words, by counts (Shannon 1948)."""

    config_class: ClassVar[type] = NgramConfig
    task: ClassVar[str] = "counting"
    about: ClassVar[str] = "smoothed counts of word sequences"

    def __init__(self, tables: Tables, config: NgramConfig) -> None:
        self.tables = tables
        self.config = config
        self.vocabulary_size = tables.vocabulary_size
        self.horizon = self.context_size = max(tables.order - 1, 1)
        self.resets_at_lines = config.context == "line"
        self.start_context = np.full(self.context_size, NOTHING)
        self.start_context[-1] = tables.eos_id
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

    def log_probs(self, ids: np.ndarray) -> np.ndarray:
        """Log probability of every id of a text from the initial state, without torch."""
        rows = np.concatenate([self.start_context, ids])[None]
        return self._score(rows)[0]

    def _score(self, rows: np.ndarray) -> np.ndarray:
        """Log probabilities of the words after the context at the start of each row."""
        log_probs = self.tables.score(rows)[:, self.context_size - 1 :]
        if not self.always_defined:
            log_probs[self._unseen(rows)] = -np.inf
        return log_probs

    def _unseen(self, rows: np.ndarray) -> np.ndarray:
        unseen = self.tables.unseen_contexts(rows, lines=self.resets_at_lines)
        return unseen[:, self.context_size - 1 :]

    # The contract ---------------------------------------------------------------------------------

    def start(self, batch_size: int, source: Any = None) -> torch.Tensor:
        import torch

        return torch.from_numpy(self.start_context).repeat(batch_size, 1)

    def predict(self, state: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        import torch

        contexts = state.numpy()
        log_probs = self.tables.predict(contexts)
        if not self.always_defined:
            rows = np.concatenate([contexts, contexts[:, -1:]], axis=1)  # any word may follow
            log_probs[self._unseen(rows)[:, 0]] = -np.inf
        return torch.from_numpy(log_probs)

    def read(self, ids: torch.Tensor, state: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        import torch

        return torch.cat([state, ids], dim=1)[:, ids.shape[1] :]

    def score(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        rows = torch.cat([state, ids], dim=1).numpy()
        log_probs = self._score(rows)
        return torch.from_numpy(np.ascontiguousarray(log_probs)), self.read(ids, state)

    def undefined(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        if self.always_defined:
            return super().undefined(ids, state)  # type: ignore[return-value]
        rows = torch.cat([state, ids], dim=1).numpy()
        return torch.from_numpy(self._unseen(rows).copy()), self.read(ids, state)

    def score_and_mass(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor, members: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        import torch

        rows = torch.cat([state, ids], dim=1).numpy()
        contexts = np.lib.stride_tricks.sliding_window_view(rows[:, :-1], self.context_size, axis=1)
        masses = self._mass_of(members.numpy()).log_masses(contexts.reshape(-1, self.context_size))
        masses = masses.reshape(ids.shape)
        if not self.always_defined:
            masses[self._unseen(rows)] = -np.inf
        log_probs, state = self.score(ids, state)
        return log_probs, torch.from_numpy(masses), state

    def _mass_of(self, members: np.ndarray) -> SetMass:
        """The masses of a set; those of the last set are kept, with the contexts seen so far."""
        key = members.tobytes()
        if self._mass is None or self._mass[0] != key:
            self._mass = key, SetMass(self.tables, members)
        return self._mass[1]

    def predict_all(  # type: ignore[override]
        self, ids: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        rows = torch.cat([state, ids], dim=1)
        contexts = rows.unfold(1, self.context_size, 1)[:, :-1]  # (B, T, context)
        log_probs = self.predict(contexts.reshape(-1, self.context_size))
        return log_probs.view(*ids.shape, self.vocabulary_size), self.read(ids, state)

    # Saving and loading ---------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        """All trained arrays, by name."""
        named = {}
        for order, table in enumerate(self.tables.tables, start=1):
            named[f"order{order}.log_probs"] = table.log_probs
            if order < self.tables.order:
                named[f"order{order}.log_backoffs"] = table.log_backoffs
            if order > 1:
                named[f"order{order}.prefixes"] = table.prefixes.astype(np.int32)
                named[f"order{order}.words"] = table.words.astype(np.int32)
            if table.counts is not None:
                named[f"order{order}.counts"] = table.counts
        return named

    def facts(self) -> dict[str, Any]:
        """Everything except the arrays that a run folder needs, as plain data."""
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
        """Restore the model from its arrays and facts."""
        size = facts["vocabulary_size"]
        if not facts["ngrams"] or facts["ngrams"][0] != size or not 0 <= facts["eos_id"] < size:
            raise ValueError(f"a vocabulary of {size:,} has other n-grams of order 1")
        for order, count in enumerate(facts["ngrams"], start=1):
            for name, array in arrays.items():
                if name.startswith(f"order{order}.") and array.shape != (count,):
                    raise ValueError(f"{name} holds {array.shape} numbers, not {count:,}")
        tables = []
        for order in range(1, len(facts["ngrams"]) + 1):
            log_probs = arrays[f"order{order}.log_probs"]
            lowest = order == 1
            tables.append(
                OrderTable(
                    np.zeros(size, dtype=np.int32) if lowest else arrays[f"order{order}.prefixes"],
                    np.arange(size) if lowest else arrays[f"order{order}.words"],
                    log_probs,
                    arrays.get(f"order{order}.log_backoffs", np.zeros(len(log_probs))),
                    arrays.get(f"order{order}.counts"),
                )
            )
        for below, table in zip([None, *tables], tables, strict=False):
            _check_table(table, size, below)
        return cls(
            Tables(tables, size, facts["eos_id"], list(facts["notes"]), facts["discounts"]), config
        )

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


def _check_table(table: OrderTable, size: int, below: OrderTable | None) -> None:
    """Raise a ValueError if the arrays of an order are inconsistent; `below` is the lower order."""
    for values in (table.log_probs, table.log_backoffs):
        if values.dtype.kind != "f" or len(values) != len(table) or np.isnan(values).any():
            raise ValueError("log probabilities are missing or NaN")
    if table.counts is not None and table.counts.dtype.kind not in "iuf":
        raise ValueError("counts of n-grams are not numeric")
    if below is None or not len(table):
        return
    if table.words.min() < 0 or table.words.max() >= size:
        raise ValueError("an n-gram has a word that is not in the vocabulary")
    first, last = table.prefixes[0], table.prefixes[-1]
    if first < 0 or last >= len(below) or (np.diff(table.prefixes) < 0).any():
        raise ValueError("the beginning of an n-gram is missing from the lower order")
