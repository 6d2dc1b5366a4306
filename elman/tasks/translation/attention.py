"""Attention maps of a trained encoder–decoder: weights between words for given targets.

Takes sources and the ids of their outputs, as found by a search, and returns an `AttentionMap` for
each; called by the commands that translate, for pictures and alignments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elman.batches.sources import pad_rows
from elman.evaluation.attention_map import END, AttentionMap, map_words, starts_of, words_of
from elman.tasks.translation.sides import Side
from elman.tasks.translation.task import ReadSource, Translation
from elman.tasks.translation.trained import TrainedTranslator, attention_of

_AT_ONCE = 64


def attention_maps(
    trained: TrainedTranslator,
    sources: Sequence[str | np.ndarray],
    targets: Sequence[Sequence[int]],
) -> list[AttentionMap]:
    """The map of every source and target; an empty source gives an empty map."""
    trained.check_attention()
    encoded = trained.task.encode_sources(sources)
    maps = [AttentionMap((), (), np.zeros((0, 0)))] * len(sources)
    for row, weights in _weights(trained, encoded, targets):
        source = _source_words(trained.task.source, sources[row], encoded[row])
        target = _target_words(trained.task, targets[row], encoded[row])
        maps[row] = map_words(source, target, weights[: len(targets[row]), : len(source[1])])
    return maps


def _weights(
    trained: TrainedTranslator, encoded: Sequence[ReadSource], targets: Sequence[Sequence[int]]
) -> Iterator[tuple[int, np.ndarray]]:
    """For every source that is not empty, its number and its attention weights (T, S)."""
    lengths = [len(ids) for ids in targets]
    some = [row for row in range(len(encoded)) if len(encoded[row]) and lengths[row]]
    some.sort(key=lambda row: lengths[row])
    for first in range(0, len(some), _AT_ONCE):
        rows = some[first : first + _AT_ONCE]
        ids = pad_rows([np.asarray(targets[row]) for row in rows], 0)
        source = trained.task.source_batch([encoded[row] for row in rows])
        yield from zip(rows, attention_of(trained.model, source, ids), strict=True)


def _source_words(
    side: Side | None, source: str | np.ndarray, encoded: ReadSource
) -> tuple[list[str], list[int]]:
    """The words of a source, and the word of each token; vectors are numbered."""
    if side is None or not isinstance(source, str):
        places = range(len(np.atleast_2d(encoded.numbers)))
        return [str(place + 1) for place in places], [*places]
    words, numbers = words_of(source, side.tokenizer.spans(source).starts.tolist())
    return [*words, END], [*numbers, len(words)]


def _target_words(
    task: Translation, ids: Sequence[int], source: ReadSource
) -> tuple[list[str], list[int]]:
    """The words of an output, and the word of each token; the output may lack its end."""
    ended = ids[-1] == task.target.tokenizer.eos_id
    inside = ids[:-1] if ended else ids
    pieces = [task.decode(inside[: end + 1], source) for end in range(len(inside))]
    words, numbers = words_of(pieces[-1] if pieces else "", starts_of(pieces))
    return ([*words, END], [*numbers, len(words)]) if ended else (words, numbers)
