"""The probability of a text: surprisal of words, measures of a text, and tables of stimuli.

The questions `surprisal` and `score`, and surprisal added to a table of stimuli, row for row, for
one or several models:

    surprisal   of the word (or words) of a row, or the sum over the words of its sentence
    entropy     before the word, or the mean over the words of the sentence
    tokens      the number of tokens in the row; a rare word may have several
    unknown     the number of out-of-vocabulary words in the row

With several models, the name of each column includes its run. Rows without text get NA.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from elman.errors import InputError
from elman.evaluation.measurement import Measurement
from elman.evaluation.measures import Progress, Reading, silent
from elman.evaluation.surprisal import Part, SurprisalTable, WordSurprisal, part_surprisals
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import NAME, TEXT, Answer, Question, aligned_lines, asked
from elman.text.reader import Document
from elman.text.stimuli import NOTHING, Stimuli
from elman.text.tokenizer import EOS

_RESETS = ("line", "stream")
_RESET = "Reset the state at every line (line), or carry it through the text (stream)."
_MANY_UNKNOWN = 0.05  # of the words
_COLUMNS = ("surprisal", "entropy", "tokens", "unknown")


# Surprisal ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Surprisal:
    """Compute the surprisal, entropy and rank of every word in a text."""

    text: str = asked("The text, one sentence per line.", kind=TEXT, limit="prompt_tokens")
    base: float | Literal["e"] = asked(
        "The base of the logarithm: 2 (bits), e (nats) or 10.", default=2.0
    )
    reset: str = asked(_RESET, default="line", choices=_RESETS)


@dataclass(frozen=True)
class WordSurprisals(Answer):
    """One row per word."""

    base: float
    reset: str
    words: list[WordSurprisal]
    knows_all: bool  # the model has no <unk>

    def _repr_html_(self) -> str:
        return SurprisalTable(self.words)._repr_html_()

    def to_data(self) -> dict[str, Any]:
        words = [dict(vars(word)) for word in self.words]
        return {"base": self.base, "reset": self.reset, "words": words}

    def lines(self) -> Iterable[str]:
        """Tab-separated columns; words contain no white space, so no tabs."""
        names = [field.name for field in fields(WordSurprisal) if field.name != "undefined"]
        yield "\t".join(names)
        for word in self.words:
            cells = {name: _tab_cell(getattr(word, name)) for name in names}
            if word.undefined:
                cells |= {"surprisal": "undefined", "entropy": "undefined"}
            yield "\t".join(cells.values())

    def notes(self) -> list[str]:
        found = []
        if not self.knows_all:
            unknown = sum(word.unknown for word in self.words)
            found.append(unknown_note(unknown, sum(word.word != EOS for word in self.words)))
        if undefined := sum(word.undefined for word in self.words):
            found.append(
                f"{undefined} of {len(self.words)} words have no defined probability, because "
                "their context was never seen (0 / 0); train with smoothing for finite numbers"
            )
        return found


def _tab_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else "" if value is None else str(value)


def unknown_note(unknown: int, words: int, run: str = "") -> str:
    """The share of out-of-vocabulary words, with a warning if it is large."""
    of_run = f" for {run}" if run else ""
    share = f"{unknown:,} of {words:,} words ({unknown / max(words, 1):.1%}) are out of vocabulary"
    if unknown > _MANY_UNKNOWN * words:
        return (
            f"WARNING: {share}{of_run}: their surprisal is that of <unk>, not of the word. Do not "
            "analyse them; train on more text, or with --set text.tokenizer=raw-words"
        )
    return f"{share}{of_run}" + (": their surprisal is that of <unk>" if unknown else "")


def surprisal(trained: TrainedModel, request: Surprisal, progress: Progress) -> WordSurprisals:
    """Compute the surprisal, entropy and rank of every word."""
    base = math.e if request.base == "e" else float(request.base)
    if not math.isfinite(base):
        raise InputError(f"base={base}: the base of a logarithm must be above 1 (2, e or 10)")
    words = trained.surprisal(request.text, base=base, reset=request.reset, progress=progress)
    return WordSurprisals(base, request.reset, words, trained.tokenizer.unknown_id is None)


SURPRISAL = Question(Surprisal, surprisal, unit="tokens")


# Score --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Score:
    """Score a text: perplexity, bits per character and bits per byte.

    For example:
      elman score runs/ptb --text "the price of gold rose"
      elman score runs/ptb notes.txt --reset line --json
    """

    text: str = asked("The text.", kind=TEXT, limit="prompt_tokens")
    reset: str = asked(_RESET, default="stream", choices=_RESETS)
    name: str = asked("The name of the text in messages.", default="text", kind=NAME)


@dataclass(frozen=True)
class TextScore(Answer):
    """The measures of a text, with the protocol."""

    measured: Measurement

    def to_data(self) -> dict[str, Any]:
        return self.measured.to_data()

    def lines(self) -> Iterable[str]:
        data = self.to_data()
        rows = [[name.replace("_", " "), data[name]] for name in data if name != "protocol"]
        return [*aligned_lines(["measure", "value"], rows), str(self.measured.protocol)]


def score(trained: TrainedModel, request: Score, progress: Progress) -> TextScore:
    """Score a text."""
    document = Document(request.name, request.text)
    return TextScore(trained.measure(document, Reading(request.reset), progress))


SCORE = Question(Score, score, unit="tokens")


# Tables of stimuli --------------------------------------------------------------------------------


@dataclass(frozen=True)
class JoinedTable(Answer):
    """A table with new columns."""

    base: float
    table: list[str]  # lines with tabs, the header first
    own: int  # how many columns the table had before
    remarks: list[str]  # on out-of-vocabulary words

    def to_data(self) -> dict[str, Any]:
        header, *rows = [line.split("\t") for line in self.table]
        values = [[*row[: self.own], *map(_number, row[self.own :])] for row in rows]
        return {"base": self.base, "rows": [dict(zip(header, r, strict=True)) for r in values]}

    def lines(self) -> Iterable[str]:
        return self.table

    def notes(self) -> list[str]:
        return self.remarks


def _number(cell: str) -> float | None:
    return None if cell == NOTHING else float(cell)


def join(
    models: Sequence[TrainedModel],
    stimuli: Stimuli,
    *,
    base: float = 2.0,
    progress: Progress = silent,
) -> JoinedTable:
    """Add the columns of every model to the table."""
    names: list[str] = []
    values: list[list[str]] = []
    remarks: list[str] = []
    for model, ending in zip(models, _endings([model.name for model in models]), strict=True):
        names += [name + ending for name in _COLUMNS]
        rows = _rows(model, stimuli, progress)
        parts_of_all = [part for parts in rows for part in parts]
        count = sum(part.unknown for part in parts_of_all)
        if model.tokenizer.unknown_id is not None:
            run = model.name if len(models) > 1 else ""
            remarks.append(unknown_note(count, len(parts_of_all), run))
        cells = [_cells(parts, math.log(base)) for parts in rows]
        values += [list(column) for column in zip(*cells, strict=True)]
    table = stimuli.with_columns(names, values)
    return JoinedTable(base, table, len(stimuli.columns()), remarks)


def _endings(runs: list[str]) -> list[str]:
    """The suffix of the column names of each run; empty for a single run."""
    if len(runs) == 1:
        return [""]
    short = [Path(run).name for run in runs]
    return [
        f"_{name}" if short.count(name) == 1 else f"_{run}"
        for name, run in zip(short, runs, strict=True)
    ]


def _rows(model: TrainedModel, stimuli: Stimuli, progress: Progress) -> list[list[Part]]:
    """The parts of every row: one for a word, several for a sentence, none for an empty row."""
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
