"""The results of a study of reading times, and its options.

Made by `reading_times.py`, printed by `elman reading-times`, drawn by `figures/reading_times.py`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from elman.errors import InputError
from elman.evaluation.bootstrap import DRAWS
from elman.notebooks import Table, Tabular


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How reading times are regressed."""

    spillover: int = 2  # words before the word whose predictors count too
    folds: int = 10
    seed: int = 0
    predictors: tuple[str, ...] = ()  # "surprisal+entropy" …; (): all that the models give
    log_times: bool = False
    keep_unknown: bool = False
    shortest: float = 0.0  # times outside are left out
    longest: float = math.inf
    draws: int = DRAWS

    def __post_init__(self) -> None:
        if self.spillover < 0:
            raise InputError(f"spillover={self.spillover}: must be at least 0")
        if self.folds < 2:
            raise InputError(f"folds={self.folds}: must be at least 2")
        if not self.shortest < self.longest:
            raise InputError("the shortest time must be below the longest")


@dataclass(frozen=True)
class Coefficient:
    """The slope of a predictor: time per bit, or per unit of a control."""

    name: str
    back: int  # 0: of this word; 1: of the word before …
    value: float
    error: float

    @property
    def t(self) -> float:
        return self.value / self.error if self.error else math.nan


@dataclass(frozen=True)
class Linearity:
    """Splines instead of lines: does a bend fit better?"""

    knots: list[float]  # of the splines, in bits
    parameters: int  # how many more
    gain: float  # log likelihood of the fit, in nats
    p_value: float  # likelihood-ratio test
    held_out: float  # nats per row; below 0: the bend does not carry over
    low: float
    high: float
    curve: list[tuple[float, float, float]]  # bits, effect of the line, of the spline; all places


@dataclass(frozen=True)
class ReadingResult:
    """One set of predictors of one model."""

    run: str
    predictors: str  # joined by +
    delta: float  # ΔLL in nats per row, held out
    low: float  # 95 % interval
    high: float
    fitted_delta: float  # the same in the fit itself
    coefficients: list[Coefficient]  # of the predictors
    linearity: Linearity | None  # of a single predictor

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class ReadingDifference:
    """Two results compared on the same rows."""

    first: str
    second: str
    difference: float  # ΔLL of the second minus that of the first
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class ReadingStudy(Tabular):
    """All results for a table, and the rows behind them."""

    table: str
    rows: int
    used: int
    left_out: dict[str, int]  # rows by reason
    subjects: int
    baseline: list[Coefficient]
    baseline_held_out: float  # log likelihood per row
    results: list[ReadingResult]
    differences: list[ReadingDifference]
    protocol: dict[str, Any]
    notes: list[str]
    columns: dict[str, list[Any]] = field(repr=False)  # of the used rows, for the R script

    def as_table(self) -> Table:
        """One row per run and set of predictors: the gain in log likelihood and its interval."""
        names = ["run", "predictors", "delta", "low", "high", "fitted_delta"]
        return Table(names, [[getattr(one, name) for name in names] for one in self.results])

    def table_caption(self) -> str:
        """The number of rows used."""
        return f"{self.used:,} of {self.rows:,} rows; delta: log likelihood in nats per row"

    def to_data(self) -> dict[str, Any]:
        """Plain data, without the columns."""
        data = {name: value for name, value in vars(self).items() if name != "columns"}
        for name in ("baseline", "results", "differences"):
            data[name] = [asdict(one) for one in data[name]]
        return data
