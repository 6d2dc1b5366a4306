"""Surprisal added to a table of stimuli, row for row, for one or several models.

Takes trained models and a `Stimuli` (or a pandas DataFrame, or a list of sentences), gives new
columns:

    surprisal               of the word (or words) of a row, or the sum over its sentence
    surprisal_uncorrected   the sum over the tokens, as older papers report it
    entropy                 before the word, or the mean over the words of the sentence
    tokens                  the number of tokens in the row; a rare word may have several
    unknown                 the number of out-of-vocabulary words in the row
    surprisal_previous_1    of the word before in the same sentence, if spill-over is requested

With several models, the name of each column includes its run. Rows without text get NA.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.measures import BEAM, Progress, silent
from elman.evaluation.sentence_words import sentence_words
from elman.extras import import_extra
from elman.figures.files import writing
from elman.tasks.language_modelling.scoring import unknown_note
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.question import Answer
from elman.text.stimuli import TAB, Stimuli, find_stimuli

NOTHING = "NA"  # a missing value in R
_IN_UNITS = (
    "surprisal", "surprisal_uncorrected", "entropy", "next_word_entropy", "entropy_reduction",
)  # fmt: skip
_WHOLE = ("tokens", "unknown", "word_rank")
_MEANS = ("entropy", "next_word_entropy", "remaining_mass")  # over the words of a sentence
_OF_WORDS = ("word_rank", "entropy_reduction")  # make no sense for a sentence
_ORDER = ("surprisal", "surprisal_uncorrected", "entropy", "tokens", "unknown")
ENDINGS = (".tsv", ".csv", ".parquet")


@dataclass(frozen=True)
class Columns:
    """Which columns are added."""

    base: float = 2.0
    entropy: bool = True
    next_word: bool = False
    beam: int = BEAM
    spillover: int = 0  # how many previous words


@dataclass(frozen=True)
class JoinedTable(Answer):
    """A table with new columns."""

    base: float
    stimuli: Stimuli
    added: dict[str, np.ndarray]
    remarks: list[str]  # on out-of-vocabulary words

    def to_data(self) -> dict[str, Any]:
        columns = {name: self._values(name) for name in self.added}
        rows = []
        for number, row in enumerate(self.stimuli.rows):
            own = dict(zip(self.stimuli.names, row, strict=True))
            rows.append({**own, **{name: values[number] for name, values in columns.items()}})
        return {"base": self.base, "rows": rows}

    def _values(self, name: str) -> list[float | int | None]:
        values = self.added[name].tolist()
        whole = name.startswith(_WHOLE)
        return [None if math.isnan(v) else int(v) if whole else v for v in values]

    def lines(self) -> Iterable[str]:
        return self._lines(self.stimuli.separator)

    def _lines(self, separator: str) -> Iterable[str]:
        """The lines of a file with this separator; in files with commas, cells may be quoted."""
        cells = [_written(values, name.startswith(_WHOLE)) for name, values in self.added.items()]
        names = [*self.stimuli.names, *self.added]
        rows = zip(self.stimuli.rows, zip(*cells, strict=True), strict=True)
        every = ([*map(_cell, row), *new] for row, new in rows)
        if separator == TAB:
            yield TAB.join(names)
            yield from (TAB.join(_one_line(row)) for row in every)
            return
        yield _quoted(names, separator)
        yield from (_quoted(row, separator) for row in every)

    def notes(self) -> list[str]:
        return self.remarks

    def save(self, path: Path) -> None:
        """Write the table as a file; its ending decides the format."""
        if path.suffix.lower() == ".parquet":
            self._save_parquet(path)
            return
        separator = TAB
        if path.suffix.lower() == ".csv":  # semicolons stay, as cells may have decimal commas
            separator = ";" if self.stimuli.separator == ";" else ","
        with writing(path) as place:
            place.write_text("".join(f"{line}\n" for line in self._lines(separator)))

    def _save_parquet(self, path: Path) -> None:
        problem = f"{path}: Parquet files need pyarrow"
        pyarrow = import_extra("pyarrow", problem)
        parquet = import_extra("pyarrow.parquet", problem)
        own = zip(*self.stimuli.rows, strict=True)
        columns = dict(zip(self.stimuli.names, map(list, own), strict=True))
        table = pyarrow.table({**columns, **{name: self._values(name) for name in self.added}})
        with writing(path) as place:
            parquet.write_table(table, place)


def _written(values: np.ndarray, whole: bool) -> list[str]:
    form = "%d" if whole else "%.6f"
    return [NOTHING if value != value else form % value for value in values.tolist()]


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _one_line(row: list[str]) -> list[str]:
    """The cells without tabs and line ends, which a file of tabs cannot hold."""
    return [" ".join(cell.split()) if TAB in cell or "\n" in cell else cell for cell in row]


def _quoted(row: Sequence[str], separator: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="").writerow(row)
    return line.getvalue()


def join(
    models: Sequence[TrainedModel],
    stimuli: Stimuli,
    wanted: Columns | None = None,
    progress: Progress = silent,
) -> JoinedTable:
    """Add the columns of every model to the table."""
    wanted = wanted or Columns()
    added: dict[str, np.ndarray] = {}
    remarks: list[str] = []
    for model, ending in zip(models, _endings([model.name for model in models]), strict=True):
        columns, unknown, words = score_stimuli(model, stimuli, wanted, progress)
        added |= {name + ending: values for name, values in columns.items()}
        if model.tokenizer.unknown_id is not None:
            remarks.append(unknown_note(unknown, words, model.name if len(models) > 1 else ""))
    stimuli.refuse_names([*added])
    return JoinedTable(wanted.base, stimuli, added, remarks)


def _endings(runs: list[str]) -> list[str]:
    """The suffix of the column names of each run; empty for a single run."""
    if len(runs) == 1:
        return [""]
    short = [Path(run).name for run in runs]
    return [
        f"_{name}" if short.count(name) == 1 else f"_{run}"
        for name, run in zip(short, runs, strict=True)
    ]


def score_stimuli(
    model: TrainedModel, stimuli: Stimuli, wanted: Columns, progress: Progress = silent
) -> tuple[dict[str, np.ndarray], int, int]:
    """The new columns, NaN where there is no text; unknown words, and all words."""
    if wanted.spillover and not stimuli.per_word:
        raise InputError("spillover: needs a table with one word per row")
    cells = stimuli.cells
    sentences = [
        [cells[row] for row in rows] if stimuli.per_word else cells[rows[0]].split()
        for rows in stimuli.sentences
    ]
    found = sentence_words(
        model.model,
        model.tokenizer,
        sentences,
        entropy=wanted.entropy,
        next_word=wanted.next_word,
        beam=wanted.beam,
        progress=progress,
    ).columns()
    found = {name: found[name] for name in (*_ORDER, *found) if name in found}
    unknown, words = int(np.nansum(found["unknown"])), np.count_nonzero(found["tokens"] > 0)
    for name in _IN_UNITS:
        if name in found:
            found[name] = found[name] / math.log(wanted.base)
    if stimuli.per_word:
        rows = np.array([row for sentence in stimuli.sentences for row in sentence], dtype=np.int64)
        columns = {name: _by_row(values, rows) for name, values in found.items()}
        columns |= _spillover(columns["surprisal"], stimuli, wanted.spillover)
    else:
        lengths = np.array([len(sentence) for sentence in sentences])
        kept = {name: values for name, values in found.items() if name not in _OF_WORDS}
        columns = {name: _by_sentence(name, values, lengths) for name, values in kept.items()}
    return columns, unknown, int(words)


def _by_row(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    result = np.empty(len(rows))
    result[rows] = values
    return result


def _by_sentence(name: str, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The sum over the words of each sentence, or the mean; NaN without words."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    real = ~np.isnan(values)
    counts = np.bincount(owners[real], minlength=len(lengths))
    sums = np.bincount(owners[real], weights=values[real], minlength=len(lengths))
    sums = np.where(counts > 0, sums, np.nan)
    return sums / np.maximum(counts, 1) if name in _MEANS else sums


def _spillover(surprisals: np.ndarray, stimuli: Stimuli, words: int) -> dict[str, np.ndarray]:
    """The surprisal of the last words before each word, NaN before the start of its sentence."""
    columns = {}
    for distance in range(1, words + 1):
        values = np.full(len(surprisals), np.nan)
        for rows in stimuli.sentences:
            values[rows[distance:]] = surprisals[rows[: len(rows) - distance]]
        columns[f"surprisal_previous_{distance}"] = values
    return columns


# DataFrames ---------------------------------------------------------------------------------------


def make_frame(
    model: TrainedModel,
    table: Any,
    column: str,
    by: Sequence[str],
    wanted: Columns,
    progress: Progress,
) -> Any:
    """The table with the new columns; a list of sentences gives a table of their words."""
    pandas = import_extra("pandas", "surprisal_table needs pandas")
    if isinstance(table, pandas.DataFrame):
        names = [str(name) for name in table.columns]
        values = table.astype(object).where(table.notna(), None)
        rows = [list(row) for row in values.itertuples(index=False, name=None)]
        stimuli = find_stimuli("table", names, rows, column=column, by=by)
    else:
        if column or by:
            raise InputError("column and by: are for a DataFrame; leave them out for a list")
        stimuli, words = _words_of(table)
        table = pandas.DataFrame(words)
    columns, _, _ = score_stimuli(model, stimuli, wanted, progress)
    stimuli.refuse_names([*columns])
    numbers = {name: _typed(pandas, name, values) for name, values in columns.items()}
    return table.assign(**numbers)


def _typed(pandas: Any, name: str, values: np.ndarray) -> Any:
    return pandas.array(values, dtype="Int64") if name in _WHOLE else values


def _words_of(sentences: Any) -> tuple[Stimuli, dict[str, list[Any]]]:
    """The words of a list of sentences, and their places as columns."""
    if isinstance(sentences, str):
        raise InputError("surprisal_table: give a DataFrame or a list of sentences, not one text")
    found: dict[str, list[Any]] = {"sentence": [], "position": [], "word": []}
    rows: list[list[int]] = []
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise InputError(f"surprisal_table: sentence {number} is not a text: {sentence!r}")
        words = sentence.split()
        rows.append([*range(len(found["word"]), len(found["word"]) + len(words))])
        found["sentence"] += [number] * len(words)
        found["position"] += range(1, len(words) + 1)
        found["word"] += words
    return Stimuli("sentences", [*found], [], found["word"], rows, per_word=True), found
