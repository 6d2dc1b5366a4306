"""Surprisal and entropy joined to a table of stimuli, row for row, under several models.

    surprisal   of a row's word (or words), or the sum over the words of its sentence
    entropy     before the word, or the mean of that over the words of the sentence
    tokens      how many tokens the row was cut into: a rare word may be spelled in many
    unknown     how many words of the row are not in the vocabulary

Takes trained models and `Stimuli`, gives the table with these columns added and the number of
out-of-vocabulary words; called by `elman surprisal`. Of several models, each column is named after
its run as well. NA stands where there is nothing to say: a row without text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elman.evaluation.measures import Progress, silent
from elman.evaluation.surprisal import Part, part_surprisals
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.stimuli import NOTHING, Stimuli

_COLUMNS = ("surprisal", "entropy", "tokens", "unknown")


@dataclass(frozen=True)
class UnknownWords:
    """How many words of a table a model does not know."""

    run: str
    unknown: int
    words: int


@dataclass(frozen=True)
class JoinedTable:
    """The lines of a table with new columns, the header first."""

    lines: list[str]
    unknown: list[UnknownWords]  # by model


def join(
    models: Sequence[TrainedModel],
    stimuli: Stimuli,
    *,
    base: float = 2.0,
    progress: Progress = silent,
) -> JoinedTable:
    """The table with the columns of every model."""
    names: list[str] = []
    values: list[list[str]] = []
    unknown: list[UnknownWords] = []
    for model, ending in zip(models, _endings([model.name for model in models]), strict=True):
        names += [name + ending for name in _COLUMNS]
        rows = _rows(model, stimuli, progress)
        parts_of_all = [part for parts in rows for part in parts]
        count = sum(part.unknown for part in parts_of_all)
        unknown.append(UnknownWords(model.name, count, len(parts_of_all)))
        cells = [_cells(parts, math.log(base)) for parts in rows]
        values += [list(column) for column in zip(*cells, strict=True)]
    return JoinedTable(stimuli.with_columns(names, values), unknown)


def _endings(runs: list[str]) -> list[str]:
    """What each run adds to the names of its columns: nothing if it is the only one."""
    if len(runs) == 1:
        return [""]
    short = [Path(run).name for run in runs]
    return [
        f"_{name}" if short.count(name) == 1 else f"_{run}"
        for name, run in zip(short, runs, strict=True)
    ]


def _rows(model: TrainedModel, stimuli: Stimuli, progress: Progress) -> list[list[Part]]:
    """For every row, its words' parts: one of a word, several of a sentence, none of nothing."""
    cells = stimuli.cells
    sentences = [
        [cells[row] for row in rows] if stimuli.per_word else cells[rows[0]].split()
        for rows in stimuli.sentences
    ]
    found = part_surprisals(model.model, model.tokenizer, sentences, progress=progress)
    result: list[list[Part]] = [[] for _ in cells]
    for rows, parts in zip(stimuli.sentences, found, strict=True):
        for number, part in enumerate(parts):
            if part is not None:
                result[rows[number] if stimuli.per_word else rows[0]].append(part)
    return result


def _cells(parts: list[Part], unit: float) -> list[str]:
    if not parts:
        return [NOTHING] * len(_COLUMNS)
    surprisal = sum(part.surprisal for part in parts) / unit
    entropy = _mean(part.entropy for part in parts) / unit
    tokens = sum(len(part.token_surprisals) for part in parts)
    unknown = sum(part.unknown for part in parts)
    return [f"{surprisal:.6f}", f"{entropy:.6f}", str(tokens), str(unknown)]


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean([*numbers]))
