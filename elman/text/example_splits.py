"""Splits of examples: the train, valid and test parts of one file, or a part held out of it.

Takes examples (labelled texts, tagged sentences, pairs, questions), gives lists of them; called by
the tasks. Examples are drawn by a shuffle whose seed is fixed, so all runs on a file share one
split: no run is evaluated on training examples of another. With `hash` and `random:SEED`, the
content of an example decides, not its place in the file. The draw is stratified by label, and no
label loses its last training example; an example with several labels counts as one of the rarest.
Examples of one group, like the questions on one passage, stay together. Running text is not split
here but in `corpora.py`, in its order.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from elman.errors import InputError

SHUFFLED, ORDERED = "shuffled", "ordered"  # ordered: the last examples, as in elman 0.1.0
HASH, TIME, RANDOM = "hash", "time", "random:"  # by content; by a column; by content and a seed
WAYS = (SHUFFLED, ORDERED, HASH)
HELD_OUT = 0.1  # share of the training examples, where a folder has no valid file
_TWENTIETH = 0.05  # share of a lone file that is valid, and share that is test
_ENDS = {"train": 0.90, "valid": 0.95, "test": 1.0}  # of the ordered split
_SEED = 0
_FEWEST_GROUPS = 10  # with fewer, examples are drawn one by one


def check_split(way: str, ways: Sequence[str] = WAYS) -> None:
    """Refuse an unknown way to split data."""
    if way in ways or (way.startswith(RANDOM) and way != RANDOM):
        return
    known = ", ".join([*ways, "random:SEED (like random:1)"])
    raise InputError(f"text.split={way}: choose one of {known}")


def fingerprint(text: str, way: str) -> int:
    """A number that depends only on the text and the seed of the way."""
    data = text.encode("utf-8", "replace")
    key = way.removeprefix(RANDOM).encode()[:64] if way.startswith(RANDOM) else b""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "big")


@dataclass(frozen=True)
class Splitter:
    """How examples are split."""

    way: str = SHUFFLED
    labels: Callable[[Any], Sequence[str]] = lambda example: ()  # each keeps its share of each part
    group: Callable[[Any], Hashable] | None = None  # examples of a group stay together

    def split(self, examples: Sequence[Any]) -> dict[str, list[Any]]:
        """Nine tenths for training, a twentieth each for validation and test."""
        if self.way == ORDERED:
            ends = [0, *(round(share * len(examples)) for share in _ENDS.values())]
            return {name: [*examples[ends[i] : ends[i + 1]]] for i, name in enumerate(_ENDS)}
        shares = {"valid": _TWENTIETH, "test": _TWENTIETH}
        return self._drawn(examples, shares)

    def hold_out(self, examples: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Nine tenths for training, a tenth for validation; a single example serves as both."""
        if self.way == ORDERED:
            kept = max(1, round((1 - HELD_OUT) * len(examples)))
            return [*examples[:kept]], [*(examples[kept:] or examples)]
        parts = self._drawn(examples, {"valid": HELD_OUT})
        return parts["train"], parts["valid"] or parts["train"]

    def _drawn(self, examples: Sequence[Any], shares: dict[str, float]) -> dict[str, list[Any]]:
        """A part for each share and the rest as train; each part in the order of the file."""
        units = self._units(examples)
        labels = [self.labels(examples[unit[0]]) for unit in units]
        counts = Counter(label for some in labels for label in some)
        pools: dict[str, list[list[int]]] = defaultdict(list)
        for unit, some in zip(units, labels, strict=True):
            rarest = min(some, key=lambda label: (counts[label], label), default="")
            pools[rarest].append(unit)
        shuffle = random.Random(_SEED)
        for label in sorted(pools):
            if self.way == SHUFFLED:
                shuffle.shuffle(pools[label])
            else:  # the same examples, whatever the order of the file
                pools[label].sort(key=lambda unit: fingerprint(repr(examples[unit[0]]), self.way))
        wanted = {name: max(1, round(share * len(units))) for name, share in shares.items()}
        drawn = {name: _draw(pools, count) for name, count in wanted.items()}
        drawn["train"] = [unit for pool in pools.values() for unit in pool]
        return {
            name: [examples[number] for number in sorted(n for unit in drawn[name] for n in unit)]
            for name in ("train", *shares)
        }

    def _units(self, examples: Sequence[Any]) -> list[list[int]]:
        """The units to draw, as indices of examples: single examples or whole groups."""
        if self.group is not None:
            groups: dict[Hashable, list[int]] = defaultdict(list)
            for number, example in enumerate(examples):
                groups[self.group(example)].append(number)
            if len(groups) >= _FEWEST_GROUPS:
                return [*groups.values()]
        return [[number] for number in range(len(examples))]


def _draw(pools: dict[str, list[list[int]]], count: int) -> list[list[int]]:
    """Take this many units out of pools, in proportion to their sizes, never the last of a pool.

    Shares are rounded down. The rest comes from the pools with the largest remainder; ties go to
    the larger pool.
    """
    total = sum(map(len, pools.values()))
    exact = {label: count * len(pool) / total for label, pool in pools.items()}
    taken = {label: min(int(exact[label]), len(pools[label]) - 1) for label in pools}
    ranked = sorted(pools, key=lambda label: (-(exact[label] % 1), -len(pools[label]), label))
    while sum(taken.values()) < count:
        there = [label for label in ranked if taken[label] < len(pools[label]) - 1]
        if not there:
            break
        for label in there[: count - sum(taken.values())]:
            taken[label] += 1
    return [pools[label].pop() for label in sorted(pools) for _ in range(taken[label])]
