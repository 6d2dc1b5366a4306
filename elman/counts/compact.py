"""Compact tables: 8 or 32 bits per probability, and keys in as few bytes as they need.

Takes tables, gives smaller ones that answer the same questions, like the quantised trie of KenLM.
Called by `elman quantise`; the arrays in their files are `parts` here.

    probabilities, weights   a code of 8 bits, and a table of values for each order;
                             or floats of 32 bits
    words                    1, 2 or 4 bytes, by the size of the vocabulary
    starts                   2 bytes, counted from the start of a block of 64 entries
    counts                   left out

With 8 bits, unigrams keep their precision, as in KenLM. Rounded probabilities no longer sum exactly
to one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from elman.counts.tables import OrderTable, Tables

Array = np.ndarray
_CODES = 256
_BLOCK = 6  # bits: 64 entries
_ROUNDS = 8  # of moving the values to the middle of what they stand for


class Codes:
    """An array of floats, as codes of 8 bits and the value of each code."""

    def __init__(self, codes: Array, values: Array) -> None:
        self.codes, self.values = codes, values

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Any:
        return self.values.take(self.codes[index], mode="clip")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def parts(self) -> dict[str, Array]:
        return {".codes": self.codes, ".values": self.values}


class Blocks:
    """An array of ascending integers: the first of each block, and the distance from it."""

    def __init__(self, firsts: Array, distances: Array) -> None:
        self.firsts, self.distances = firsts, distances

    def __len__(self) -> int:
        return len(self.distances)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        return self.firsts[np.asarray(index) >> _BLOCK] + self.distances[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def parts(self) -> dict[str, Array]:
        return {".firsts": self.firsts, ".distances": self.distances}


Stored = Array | Codes | Blocks


def array_parts(name: str, stored: Any) -> dict[str, Array]:
    """The arrays of a file for a stored array, by name."""
    if isinstance(stored, Codes | Blocks):
        return {name + ending: array for ending, array in stored.parts().items()}
    return {name: stored}


def stored_array(name: str, arrays: Mapping[str, Array]) -> Any:
    """The stored array of a name in a file, or None; a ValueError if its parts do not fit."""
    if name in arrays:
        return arrays[name]
    if name + ".codes" in arrays:
        codes, values = arrays[name + ".codes"], arrays[name + ".values"]
        if codes.dtype != np.uint8 or not 1 <= len(values) <= _CODES or values.dtype.kind != "f":
            raise ValueError(f"{name} has no valid codes")
        if np.isnan(values).any():
            raise ValueError(f"{name} holds NaN")
        return Codes(codes, values)
    if name + ".distances" in arrays:
        firsts, distances = arrays[name + ".firsts"], arrays[name + ".distances"]
        if len(firsts) != -(-len(distances) >> _BLOCK) or firsts.dtype not in (np.int32, np.int64):
            raise ValueError(f"{name} has no valid blocks")
        return Blocks(firsts, distances)
    return None


def compact(tables: Tables, bits: int = 8) -> Tables:
    """The tables with probabilities of 8 or 32 bits, and short keys."""
    rounded = quantise if bits == 8 else _single_precision
    word = np.min_scalar_type(max(tables.vocabulary_size - 1, 0))
    word = np.dtype(np.uint32) if word.itemsize > 4 else word
    made = [_unigrams(tables.tables[0], bits)]
    for order, table in enumerate(tables.tables[1:], start=2):
        backoffs = rounded(table.log_backoffs) if order < tables.order else table.log_backoffs
        starts = divide(np.asarray(tables.starts(order)))
        made.append(
            OrderTable(
                None, np.asarray(table.words).astype(word), rounded(table.log_probs), backoffs,
                starts=starts,
            )
        )  # fmt: skip
    return Tables(made, tables.vocabulary_size, tables.eos_id, tables.notes, tables.discounts)


def _unigrams(table: OrderTable, bits: int) -> OrderTable:
    stored = _single_precision if bits == 32 else np.asarray
    probs, backoffs = stored(table.log_probs), stored(table.log_backoffs)
    return OrderTable(table.prefixes, table.words, probs, backoffs)


def _single_precision(log_values: Any) -> Array:
    return np.asarray(log_values, dtype=np.float32)


def quantise(log_values: Any) -> Any:
    """Codes of 8 bits: values in groups of equal size, each group by its mean.

    Zero and minus infinity keep codes of their own: they mean that nothing follows a context, and
    that a word is impossible.
    """
    if isinstance(log_values, Codes):
        return log_values
    log_values = np.asarray(log_values, dtype=float)
    special = [value for value in (-np.inf, 0.0) if (log_values == value).any()]
    ordinary = np.isfinite(log_values) & (log_values != 0)
    others = log_values[ordinary]
    groups = _groups(np.sort(others), _CODES - len(special))
    owners = np.searchsorted((groups[1:] + groups[:-1]) / 2, others)
    sizes = np.bincount(owners, minlength=len(groups))
    means = np.bincount(owners, weights=others, minlength=len(groups)) / np.maximum(sizes, 1)
    codes = np.zeros(len(log_values), dtype=np.uint8)
    codes[ordinary] = owners + len(special)
    for code, value in enumerate(special):
        codes[log_values == value] = code
    return Codes(codes, np.concatenate([special, means, [0.0] * (not len(special) + len(groups))]))


def _groups(ascending: Array, most: int) -> Array:
    """At most so many ascending values that stand for all of these."""
    distinct = ascending[np.diff(ascending, prepend=-np.inf) > 0]
    if len(distinct) <= most:
        return distinct
    sums = np.concatenate([[0.0], np.cumsum(ascending)])
    bounds = np.linspace(0, len(ascending), most + 1).astype(np.int64)
    for _ in range(_ROUNDS):
        bounds = np.unique(bounds)
        means = np.diff(sums[bounds]) / np.diff(bounds)
        middles = (means[1:] + means[:-1]) / 2
        bounds = np.concatenate([[0], np.searchsorted(ascending, middles), [len(ascending)]])
    bounds = np.unique(bounds)
    return np.diff(sums[bounds]) / np.diff(bounds)


def divide(ascending: Array) -> Any:
    """The same integers in blocks, or unchanged if a block spans too many."""
    largest = int(ascending[-1]) if len(ascending) else 0
    firsts = ascending[:: 1 << _BLOCK].astype(np.int32 if largest < 2**31 else np.int64)
    distances = ascending - np.repeat(firsts, 1 << _BLOCK)[: len(ascending)]
    if distances.max(initial=0) >= 1 << 16:
        return ascending
    return Blocks(firsts, distances.astype(np.uint16))
