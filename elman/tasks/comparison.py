"""Compare runs of one task on the same examples, and test whether differences could be chance.

Takes trained models and data, returns a `Comparison`: the measures of every run with their 95 %
intervals, and for every pair of runs the difference with its interval and p-value. Every task
defines how its runs are scored together (`Trained.score_together`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from elman.errors import InputError
from elman.evaluation.bootstrap import DRAWS, FEWEST, Measure, PairedBootstrap, Resampled, resample
from elman.notebooks import Table, Tabular, records_table

if TYPE_CHECKING:
    from elman.tasks.trained import Trained

Told = Callable[[str], None]  # receives the name of the current step


@dataclass(frozen=True)
class ScoredRun:
    """A run on the examples of a comparison."""

    name: str
    examples: int
    unit: str  # the name of the examples
    measures: Sequence[Measure]  # the main one first; none if they are infinite
    notes: Sequence[str] = ()

    def row(self, values: dict[str, Value], against_first: PairedBootstrap | None) -> ComparedRun:
        """The row of the run in a comparison."""
        return ComparedRun(self.name, values, against_first)

    def advantage_over(self, other: Any) -> str:
        """Why this run may not be called better than another one; "" if it may."""
        return ""


@dataclass(frozen=True)
class Value:
    """A measure of a run; 95 % of the draws lie between `low` and `high`."""

    value: float
    low: float | None = None  # None if there are too few examples
    high: float | None = None


@dataclass(frozen=True)
class ComparedRun:
    """The row of one run; the first run is the baseline."""

    name: str
    values: dict[str, Value]
    against_first: PairedBootstrap | None  # by the main measure

    def to_data(self) -> dict[str, Any]:
        against = vars(self.against_first) if self.against_first else None
        values = {name: vars(value) for name, value in self.values.items()}
        return {"run": self.name, "measures": values, "against_first": against}

    def cells(self) -> dict[str, Any]:
        """What a table shows of it, by column."""
        cells: dict[str, Any] = {}
        for name, value in self.values.items():
            cells[name] = value.value
            if value.low is not None and value.high is not None:
                digits = digits_of(value.value)
                interval = f"{value.low:.{digits}f} … {value.high:.{digits}f}"
                cells[f"95 % of {name}"] = interval
        return cells


@dataclass(frozen=True)
class ComparedPair:
    """Two runs compared by a measure: `second` minus `first`."""

    first: str
    second: str
    measure: str
    result: PairedBootstrap
    better: str | None  # the name of the better run; None: too small to tell, or not ranked
    not_ranked: str = ""  # why the difference is no ranking, though it is not chance

    def to_data(self) -> dict[str, Any]:
        names = {"first": self.first, "second": self.second, "measure": self.measure}
        found = {**names, **vars(self.result), "better": self.better}
        return {**found, "not_ranked": self.not_ranked} if self.not_ranked else found


@dataclass(frozen=True)
class Comparison(Tabular):
    """Runs compared on the same examples; as a sequence, the rows of the runs."""

    unit: str  # the name of the examples
    examples: int
    rows: Sequence[ComparedRun]
    pairs: Sequence[ComparedPair]
    draws: int
    seed: int
    notes: Sequence[str] = field(default=())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Any:
        return self.rows[place]

    def as_table(self) -> Table:
        """One row per run."""
        return records_table([{"run": row.name, **row.cells()} for row in self.rows])

    def table_caption(self) -> str:
        """The examples."""
        return f"{self.examples:,} {self.unit}"

    def to_data(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "examples": self.examples,
            "draws": self.draws,
            "seed": self.seed,
            "runs": [row.to_data() for row in self.rows],
            "pairs": [pair.to_data() for pair in self.pairs],
            "notes": [*self.notes],
        }


def compare(
    runs: Sequence[Trained],
    data: str,
    *,
    split: str | None = None,
    reset: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Told = lambda what: None,
) -> Comparison:
    """Measure every run on the same data; the first is the baseline.

    `reset`: for language models, "stream" carries the state through the text, "line" resets it at
    every line. `draws`: how many times the paired bootstrap draws the examples.
    """
    if not runs:
        raise InputError("give at least one run to compare")
    if draws < 1:
        raise InputError(f"draws={draws}: must be at least 1")
    first, *others = runs
    for other in others:
        if not (isinstance(other, type(first)) or isinstance(first, type(other))):
            raise InputError(
                f"{first.name} is {first.about} and {other.name} is {other.about}; compare runs of "
                "one task"
            )
    options = {} if reset is None else {"reset": reset}
    scored = type(first).score_together(runs, str(data), split=split, progress=progress, **options)
    progress("drawing")
    return _compared(scored, draws, seed)


def _compared(scored: Sequence[ScoredRun], draws: int, seed: int) -> Comparison:
    examples, unit = scored[0].examples, scored[0].unit
    notes = [*dict.fromkeys(note for run in scored for note in run.notes)]
    places = {row: place for place, row in enumerate(r for r, s in enumerate(scored) if s.measures)}
    if examples < FEWEST or not places:
        if examples < FEWEST:
            notes.append(f"fewer than {FEWEST} {unit}: too few to tell differences from chance")
        rows = [run.row(_values(run), None) for run in scored]
        return Comparison(unit, examples, rows, [], draws, seed, notes)
    drawn = resample([scored[row].measures for row in places], examples, draws, seed)
    pairs = [
        _compare_pair(scored[first], scored[second], measure, drawn.compare(*both, measure))
        for (first, second), both in zip(
            combinations(places, 2), combinations(places.values(), 2), strict=True
        )
        for measure in range(len(scored[first].measures))
    ]
    notes += dict.fromkeys(pair.not_ranked for pair in pairs if pair.not_ranked)
    rows = []
    for row, run in enumerate(scored):
        known = row in places and 0 in places and row > 0
        against = drawn.compare(0, places[row], 0) if known else None
        rows.append(run.row(_values(run, drawn, places.get(row)), against))
    return Comparison(unit, examples, rows, pairs, draws, seed, notes)


def _values(
    run: ScoredRun, drawn: Resampled | None = None, place: int | None = None
) -> dict[str, Value]:
    """The measures of a run, with intervals if there are draws."""
    found = {}
    for number, measure in enumerate(run.measures):
        value = measure.value(run.examples)
        if drawn is None or place is None:
            found[measure.name] = Value(value)
        else:
            found[measure.name] = Value(value, *drawn.interval(place, number))
    return found


def _compare_pair(
    first: ScoredRun, second: ScoredRun, number: int, result: PairedBootstrap
) -> ComparedPair:
    measure = first.measures[number]
    names = first.name, second.name, measure.name, result
    if not result.significant:
        return ComparedPair(*names, better=None)
    second_is_better = (result.difference > 0) == measure.higher_is_better
    better, other = (second, first) if second_is_better else (first, second)
    if reason := better.advantage_over(other):
        return ComparedPair(*names, better=None, not_ranked=reason)
    return ComparedPair(*names, better=better.name)


def digits_of(value: float) -> int:
    """Decimals to show: shares from 0 to 1 need more than figures like BLEU."""
    return 4 if abs(value) <= 1 else 2
