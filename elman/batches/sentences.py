"""Batches of whole sentences: the input of an encoder.

    words     (B, T)   ids of the words, 0: unknown
    spelled   (N, L)   the distinct words of the batch in symbols; places (B, T) maps words to rows
    lengths   (B,)
    context   (B, T, K, size)   layers of a frozen language model, if they were computed before

Takes sentences, gives `Sentences` for one pass and `Examples`, batches of them with their targets,
bucketed by length as in `buckets.py`; called by the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import torch

from elman.batches.buckets import Buckets
from elman.text.spelling import spell
from elman.text.word_list import WordList

LONGEST = 50  # bytes of a word that the model sees
_COMPUTED_TOGETHER = 64  # sentences, whatever the batch size, so that resuming gives the same bits


@dataclass(frozen=True)
class Sentences:
    """Words of several sentences, padded to the longest."""

    words: torch.Tensor
    spelled: torch.Tensor
    places: torch.Tensor
    lengths: torch.Tensor
    context: torch.Tensor | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device) -> Self:
        """The same on a device."""
        return replace(self, **{name: part.to(device) for name, part in self._parts().items()})

    def rows(self, rows: slice) -> Self:
        """Some of the sentences; the distinct words stay as they are."""
        parts = {name: part[rows] for name, part in self._parts().items() if name != "spelled"}
        return replace(self, **parts)

    def _parts(self) -> dict[str, torch.Tensor]:
        return {name: part for name, part in vars(self).items() if part is not None}

    def real(self) -> torch.Tensor:
        """True for words, false for padding, (B, T)."""
        steps = torch.arange(self.words.shape[1], device=self.words.device)
        return steps < self.lengths[:, None]


class SentenceReader:
    """Turns sentences into tensors; every distinct word is spelled once."""

    def __init__(self, words: WordList) -> None:
        self._list = words

    def index(self, sentences: Sequence[Sequence[str]]) -> IndexedSentences:
        """Sentences ready for batching in any order."""
        # Without any word, add an empty one, because padding points at a word.
        every = dict.fromkeys(_all(sentences)) or {"": None}
        distinct = {word: place for place, word in enumerate(every)}
        spelled = spell([*distinct], LONGEST)
        ids = self._list.ids([*distinct])
        places = [
            np.fromiter(map(distinct.__getitem__, sentence), dtype=np.int64, count=len(sentence))
            for sentence in sentences
        ]
        return IndexedSentences(places, ids, spelled)

    def read(self, sentences: Sequence[Sequence[str]]) -> Sentences:
        """A batch of sentences."""
        return self.index(sentences).batch(np.arange(len(sentences)))


class IndexedSentences:
    """Sentences as indices into a table of distinct words."""

    def __init__(self, places: list[np.ndarray], ids: np.ndarray, spelled: np.ndarray) -> None:
        self._places = places
        self._ids = ids
        self._spelled = spelled
        self.lengths = np.array([len(row) for row in places])
        self._layers: Callable[[Sentences], torch.Tensor] | None = None
        self._context: torch.Tensor | None = None  # (words of all sentences, K, size)
        self._starts = np.cumsum([0, *self.lengths])

    def __len__(self) -> int:
        return len(self.lengths)

    def remember(self, layers: Callable[[Sentences], torch.Tensor]) -> None:
        """Batches contain the layers (K, B, T, size) of their words, computed once for all of them
        when the first batch is made: by then, a resumed model has its weights.
        """
        self._layers = layers

    @torch.no_grad()
    def _compute(self, layers: Callable[[Sentences], torch.Tensor]) -> torch.Tensor | None:
        """The layers of all words, (words, K, size); None if there is no sentence."""
        order = np.argsort(self.lengths, kind="stable")
        found: torch.Tensor | None = None
        for first in range(0, len(order), _COMPUTED_TOGETHER):
            rows = order[first : first + _COMPUTED_TOGETHER]
            computed = layers(self.batch(rows)).movedim(0, 2).cpu()  # (B, T, K, size)
            if found is None:
                found = computed.new_empty(int(self._starts[-1]), *computed.shape[2:])
            for row, number in enumerate(rows):
                begin, end = self._starts[number : number + 2]
                found[begin:end] = computed[row, : end - begin]
        return found

    def batch(self, rows: np.ndarray) -> Sentences:
        """A batch of some of the sentences."""
        lengths = self.lengths[rows]
        padded = np.zeros((len(rows), max(lengths.max(initial=0), 1)), dtype=np.int64)
        for row, number in enumerate(rows):
            padded[row, : lengths[row]] = self._places[number]
        distinct, places = np.unique(padded, return_inverse=True)
        spelled = self._spelled[distinct]
        width = int((spelled != 0).sum(1).max(initial=1))
        return Sentences(
            torch.from_numpy(self._ids[padded]),
            torch.from_numpy(spelled[:, :width].astype(np.int64)),
            torch.from_numpy(places.reshape(padded.shape)),
            torch.from_numpy(lengths),
            context=self._remembered(rows, padded.shape[1]),
        )

    def _remembered(self, rows: np.ndarray, length: int) -> torch.Tensor | None:
        """The layers of some sentences, padded with zeros, if they were computed before."""
        if self._layers is not None:
            layers, self._layers = self._layers, None
            self._context = self._compute(layers)
        if self._context is None:
            return None
        context = self._context.new_zeros(len(rows), length, *self._context.shape[1:])
        for row, number in enumerate(rows):
            begin, end = self._starts[number : number + 2]
            context[row, : end - begin] = self._context[begin:end]
        return context


@dataclass(frozen=True)
class ExampleBatch:
    """Sentences, or pairs of them, with their targets."""

    inputs: tuple[Sentences, ...]
    targets: torch.Tensor  # (B, T) tags, (B,) labels, (B, 1, 2) spans: first and last word
    counts: tuple[int, ...]  # the number of targets of each example
    rate_factor: float = 1.0
    weights: torch.Tensor | None = None  # (B,) of each example in the loss; None: all 1

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def tokens(self) -> int:
        """The total number of targets."""
        return sum(self.counts)

    def to(self, device: torch.device) -> ExampleBatch:
        """The same on a device."""
        inputs = tuple(part.to(device) for part in self.inputs)
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, inputs=inputs, targets=self.targets.to(device), weights=weights)

    def rows(self, rows: slice) -> ExampleBatch:
        """Some of the examples."""
        inputs = tuple(part.rows(rows) for part in self.inputs)
        weights = None if self.weights is None else self.weights[rows]
        return ExampleBatch(inputs, self.targets[rows], self.counts[rows], weights=weights)


class Examples(Buckets):
    """Batches of examples, in a new order for every epoch, or in a fixed one."""

    def __init__(
        self,
        inputs: Sequence[IndexedSentences],
        targets: Sequence[np.ndarray],
        *,
        batch_size: int,
        seed: int | None = 0,
        weights: np.ndarray | None = None,
    ) -> None:
        """`targets`: one array per example; `seed` None: sorted by length; `weights`: of each
        example in the loss, None if all are 1.
        """
        self._inputs = inputs
        self._targets = targets
        self._weights = None if weights is None else weights.astype(np.float32)
        super().__init__(np.max([part.lengths for part in inputs], axis=0), batch_size, seed)
        self.tokens_per_epoch = sum(_things(target) for target in targets)

    @property
    def words(self) -> int:
        """The number of words of all inputs."""
        return int(sum(part.lengths.sum() for part in self._inputs))

    def remember(self, layers: Callable[[Sentences], torch.Tensor]) -> None:
        """Compute the layers of a frozen language model once, for all inputs."""
        for part in self._inputs:
            part.remember(layers)

    def _batch(self, rows: np.ndarray) -> ExampleBatch:
        targets = [self._targets[row] for row in rows]
        return ExampleBatch(
            tuple(part.batch(rows) for part in self._inputs),
            torch.from_numpy(_padded(targets)),
            tuple(_things(target) for target in targets),
            weights=None if self._weights is None else torch.from_numpy(self._weights[rows]),
        )


def _all(sentences: Sequence[Sequence[str]]) -> list[str]:
    return [word for sentence in sentences for word in sentence]


def _things(target: np.ndarray) -> int:
    return max(len(target), 1) if target.ndim else 1


def _padded(targets: list[np.ndarray]) -> np.ndarray:
    """Stack targets of the same shape; pad tags to the longest."""
    if targets[0].ndim == 0 or len({target.shape for target in targets}) == 1:
        return np.stack(targets)
    padded = np.zeros((len(targets), max(len(target) for target in targets)), dtype=np.int64)
    for row, target in enumerate(targets):
        padded[row, : len(target)] = target
    return padded
