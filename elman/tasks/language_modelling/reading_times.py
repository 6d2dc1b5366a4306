"""Reading times: how much better do they fit with the surprisal of a model?

    time = b₀ + Σₖ (length + log frequency) of the word k places back                       baseline
    time = … + Σₖ predictors of the word k places back                             k = 0 … spillover

Takes trained models and a `ReadingTable`, gives a `ReadingStudy`; called by `elman reading-times`.
Every model is judged on the same rows. ΔLL is the gain of log likelihood per row (nats) over the
baseline, on rows of folds that the regression was not fitted to; its interval comes from a
bootstrap over blocks of neighbouring words. With subjects, each has a random intercept. The test of
linearity replaces each line by a natural spline.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from elman.errors import InputError
from elman.evaluation.bootstrap import FEWEST, Measure, PairedBootstrap, resample, share_of
from elman.evaluation.measures import Progress, silent
from elman.evaluation.regression import (
    Fit,
    fit,
    held_out,
    is_singular,
    likelihood_ratio_p,
    natural_spline,
)
from elman.tasks.language_modelling.reading_results import (
    Coefficient,
    Linearity,
    ReadingDifference,
    ReadingOptions,
    ReadingResult,
    ReadingStudy,
)
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.language_modelling.word_predictors import (
    ENTROPY,
    NEXT_WORD,
    SURPRISAL,
    WordPredictors,
    word_scores,
)
from elman.text.reading_times import ReadingTable

_BLOCK = 50  # words that the bootstrap draws together
_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)  # quantiles
_FEWEST_KNOTS = 3  # a spline with two is a line


def study_reading_times(
    models: Sequence[TrainedModel],
    table: ReadingTable,
    *,
    counts: Counter[str] | None = None,
    options: ReadingOptions | None = None,
    progress: Progress = silent,
) -> ReadingStudy:
    """Regress reading times on the predictors of every model; `counts`: frequencies of words."""
    options = options or ReadingOptions()
    names = short_names([model.name for model in models])
    if repeated := {name for name in names if names.count(name) > 1}:
        raise InputError(
            f"two runs are called {repeated.pop()}; name them: --run first=… --run second=…"
        )
    next_word = any(name in one for one in options.predictors for name in NEXT_WORD)
    scores = {
        name: word_scores(model, table.sentences, next_word=next_word, progress=progress)
        for name, model in zip(names, models, strict=True)
    }
    words = WordPredictors(table, counts, scores)
    rows, left_out = _usable_rows(words, options)
    if len(rows) < 10 * (options.spillover + 1) * 3:
        reasons = ", ".join(f"{number:,} {why}" for why, number in left_out.items())
        raise InputError(
            f"{table.name}: only {len(rows):,} rows can be used "
            f"({reasons or 'there are no more'}); give more words, fewer words of spill-over, or "
            "keep unknown words"
        )
    if len({table.rows[row].time for row in rows.tolist()}) == 1:
        raise InputError(f"{table.name}: all times are the same; name another column of times")
    return _Study(table, words, rows, options).run(left_out)


def short_names(runs: Sequence[str]) -> list[str]:
    """The last part of each path, or the whole path where two are alike; as names of columns."""
    short = [Path(run).name for run in runs]
    chosen = [
        name if short.count(name) == 1 else run for name, run in zip(short, runs, strict=True)
    ]
    return [re.sub(r"\W+", "_", name).strip("_") for name in chosen]


def _usable_rows(
    words: WordPredictors, options: ReadingOptions
) -> tuple[np.ndarray, dict[str, int]]:
    """The rows that every model can use, and how many others there are by reason."""
    table = words.table
    place = np.array([words.firsts[row.sentence] + row.place for row in table.rows])
    times = np.array([row.time for row in table.rows])
    window = range(options.spillover + 1)
    reached = np.all([words.reaches(place, back) for back in window], axis=0)
    around = [np.maximum(place - back, 0) for back in window]
    checks = {
        "without a time": np.isfinite(times),
        "shorter or longer than allowed": (times > options.shortest) & (times < options.longest),
        f"without {options.spillover} words before them": reached,
        "with an out-of-vocabulary word among the words used": np.full(len(place), True)
        if options.keep_unknown
        else ~np.any([words.unknown()[where] for where in around], axis=0),
        "with a predictor that is not a number": np.all(
            [words.defined()[where] for where in around], axis=0
        ),
    }
    usable, left_out = np.full(len(place), True), {}
    for reason, passed in checks.items():
        if number := int((usable & ~passed).sum()):
            left_out[reason] = number
        usable &= passed
    return np.flatnonzero(usable), left_out


class _Study:
    """The regressions on the usable rows of a table."""

    def __init__(
        self, table: ReadingTable, words: WordPredictors, rows: np.ndarray, options: ReadingOptions
    ) -> None:
        self.table, self.words, self.options = table, words, options
        chosen = [table.rows[row] for row in rows.tolist()]
        self.rows = chosen
        self.place = np.array([words.firsts[row.sentence] + row.place for row in chosen])
        times = np.array([row.time for row in chosen])
        self.times = np.log(times) if options.log_times else times
        self.groups = [row.subject for row in chosen] if table.has_subjects else None
        self.blocks = _number_blocks(words.sentence[self.place], words.position[self.place])
        self.folds = _make_folds(words.sentence[self.place], self.blocks, options)
        self._undefined: list[str] = []  # regressions without slopes
        one = np.ones((len(chosen), 1))
        self.baseline = np.hstack([one, *(self.lagged(c) for c in words.controls.values())])
        self.baseline_fit = fit(self.baseline, self.times, self.groups)
        self.baseline_held_out = self.held_out(self.baseline)

    def lagged(self, column: np.ndarray) -> np.ndarray:
        """The column of the word and of the words before it, (rows, spillover + 1)."""
        window = range(self.options.spillover + 1)
        return np.stack([column[self.place - back] for back in window], axis=1)

    def held_out(self, predictors: np.ndarray) -> np.ndarray:
        return held_out(predictors, self.times, self.folds, self.groups)

    def run(self, left_out: dict[str, int]) -> ReadingStudy:
        """All results."""
        found = [
            self._judge(run, wanted)
            for run, scores in self.words.scores.items()
            for wanted in _predictor_sets(scores, self.options.predictors)
        ]
        gains = [gain for _, gain, _ in found]
        bends = [gain for _, _, gain in found if gain is not None]
        drawn = self._bootstrap([*gains, *bends])
        results, bend = [], len(gains)
        for number, (result, _, bent) in enumerate(found):
            low, high = drawn.interval(number, 0)
            linearity = result.linearity
            if bent is not None and linearity is not None:
                limits = drawn.interval(bend, 0)
                linearity = replace(linearity, low=limits[0], high=limits[1])
                bend += 1
            results.append(replace(result, low=low, high=high, linearity=linearity))
        differences = [
            _difference(results[one], results[two], drawn.compare(one, two, 0))
            for one, two in _compared(results)
        ]
        return ReadingStudy(
            table=self.table.name,
            rows=len(self.table.rows),
            used=len(self.rows),
            left_out=left_out,
            subjects=len(set(self.groups)) if self.groups else 0,
            baseline=_coefficients([*self.words.controls], self.baseline_fit, 1, self._window()),
            baseline_held_out=float(self.baseline_held_out.mean()),
            results=results,
            differences=differences,
            protocol=self._protocol(),
            notes=[*self.table.notes(), *self._notes()],
            columns=self._columns(),
        )

    def _window(self) -> int:
        return self.options.spillover + 1

    def _judge(
        self, run: str, wanted: tuple[str, ...]
    ) -> tuple[ReadingResult, np.ndarray, np.ndarray | None]:
        """A result, its gain per row, and the gain of splines over lines."""
        scores = self.words.scores[run]
        predictors = np.hstack([self.baseline, *(self.lagged(scores[name]) for name in wanted)])
        fitted = fit(predictors, self.times, self.groups)
        held = self.held_out(predictors)
        linearity, bent = None, None
        if is_singular(predictors):
            undefined = np.full(predictors.shape[1], math.nan)
            fitted = replace(fitted, coefficients=undefined, errors=undefined)
            self._undefined.append(f"{run} {'+'.join(wanted)}")
        elif len(wanted) == 1 and wanted[0].startswith(SURPRISAL):
            linearity, spline = self._bend(scores[wanted[0]], fitted)
            bent = None if spline is None else spline - held
            if bent is not None and linearity is not None:
                linearity = replace(linearity, held_out=float(bent.mean()))
        gain = held - self.baseline_held_out
        result = ReadingResult(
            run=run,
            predictors="+".join(wanted),
            delta=float(gain.mean()),
            low=math.nan,
            high=math.nan,
            fitted_delta=(fitted.log_likelihood - self.baseline_fit.log_likelihood)
            / len(self.times),
            coefficients=_coefficients([*wanted], fitted, self.baseline.shape[1], self._window()),
            linearity=linearity,
        )
        return result, gain, bent

    def _bend(self, column: np.ndarray, line: Fit) -> tuple[Linearity | None, np.ndarray | None]:
        """Splines in place of the lines of a predictor, and their held-out log densities."""
        knots = np.unique(np.quantile(column[self.place], _KNOTS))
        if len(knots) < _FEWEST_KNOTS:
            return None, None
        pieces = [natural_spline(one, knots) for one in self.lagged(column).T]
        predictors = np.hstack([self.baseline, *pieces])
        fitted = fit(predictors, self.times, self.groups)
        gain = fitted.log_likelihood - line.log_likelihood
        more = predictors.shape[1] - self.baseline.shape[1] - self._window()
        first = self.baseline.shape[1]
        bits = np.quantile(column[self.place], np.linspace(0.01, 0.99, 41))
        bits = np.linspace(bits[0], bits[-1], 41)
        width = pieces[0].shape[1]
        summed = fitted.coefficients[first:].reshape(self._window(), width).sum(0)
        middle = natural_spline(np.median(column[self.place])[None], knots)
        spline = (natural_spline(bits, knots) - middle) @ summed
        slope = line.coefficients[first:].sum()
        lines = (bits - np.median(column[self.place])) * slope
        curve = [*zip(bits.tolist(), lines.tolist(), spline.tolist(), strict=True)]
        p_value = likelihood_ratio_p(gain, more)
        nan = math.nan
        found = Linearity(knots.tolist(), more, gain, p_value, nan, nan, nan, curve)
        return found, self.held_out(predictors)

    def _bootstrap(self, gains: Sequence[np.ndarray]) -> Any:
        blocks = int(self.blocks.max()) + 1
        sizes = np.bincount(self.blocks, minlength=blocks)
        measures = [
            [Measure("gain", share_of(np.bincount(self.blocks, gain, minlength=blocks), sizes))]
            for gain in gains
        ]
        return resample(measures, blocks, self.options.draws, self.options.seed)

    def _protocol(self) -> dict[str, Any]:
        sentences = len(np.unique(self.words.sentence[self.place]))
        units = "texts" if sentences >= self.options.folds else f"blocks of {_BLOCK} words"
        return {
            "columns": self.table.columns,
            "spillover": self.options.spillover,
            "controls": [*self.words.controls],
            "folds": len(np.unique(self.folds)),
            "folds_of": units,
            "interval": f"95 % of {self.options.draws:,} draws of blocks of {_BLOCK} words",
            "blocks": int(self.blocks.max()) + 1,
            "seed": self.options.seed,
            "random_intercepts": "subject" if self.groups else None,
            "times": "log" if self.options.log_times else "as given",
            "base": 2,
            "unknown": "kept" if self.options.keep_unknown else "left out",
            "knots": [*_KNOTS],
        }

    def _notes(self) -> Iterable[str]:
        if "frequency" not in self.words.controls:
            yield (
                "the baseline has no word frequency, so surprisal also explains what frequency "
                "would; give --frequencies TEXT, or --columns frequency=NAME"
            )
        for name in self._undefined:
            yield f"{name}: no slopes, because a predictor is constant or a sum of others"
        if (blocks := int(self.blocks.max()) + 1) < FEWEST:
            yield f"only {blocks} blocks of {_BLOCK} words: the intervals are not reliable"
        if not self.groups:
            yield (
                "standard errors treat words as independent; with a column of subjects each gets "
                "a random intercept"
            )

    def _columns(self) -> dict[str, list[Any]]:
        """The used rows with every predictor, as the R script reads them."""
        table = self.table
        columns: dict[str, list[Any]] = {
            "line": [row.line for row in self.rows],
            "sentence": [table.identifiers[row.sentence] for row in self.rows],
            "position": self.words.position[self.place].tolist(),
            "word": [self.words.flat[place] for place in self.place.tolist()],
            "time": self.times.tolist(),
            "fold": self.folds.tolist(),
        }
        if self.groups is not None:
            columns["subject"] = self.groups
        for name, column in self.words.controls.items():
            columns |= self._named(name, column)
        for run, scores in self.words.scores.items():
            for name in sorted({*scores} - {"unknown"}):
                columns |= self._named(f"{name}_{run}", scores[name])
        return columns

    def _named(self, name: str, column: np.ndarray) -> dict[str, list[float]]:
        return {
            column_name(name, back): values.tolist()
            for back, values in enumerate(self.lagged(column).T)
        }


def column_name(name: str, back: int) -> str:
    """The name of a predictor of the word so many places back."""
    return f"{name}_{back}back" if back else name


def _compared(results: Sequence[ReadingResult]) -> Iterator[tuple[int, int]]:
    """The results to compare: every run with the first one, and the further surprisals of a run
    with its first set of predictors.
    """
    own: dict[str, int] = {}
    for number, result in enumerate(results):
        own.setdefault(result.run, number)
        if own[result.run] == number and number:
            yield 0, number
        elif own[result.run] != number and result.predictors.startswith(SURPRISAL):
            yield own[result.run], number


def _difference(
    first: ReadingResult, second: ReadingResult, found: PairedBootstrap
) -> ReadingDifference:
    one, two = (f"{result.run} {result.predictors}" for result in (first, second))
    return ReadingDifference(one, two, found.difference, found.low, found.high, found.p_value)


def _coefficients(names: list[str], fitted: Fit, first: int, window: int) -> list[Coefficient]:
    return [
        Coefficient(
            name,
            back,
            float(fitted.coefficients[first + number * window + back]),
            float(fitted.errors[first + number * window + back]),
        )
        for number, name in enumerate(names)
        for back in range(window)
    ]


def _predictor_sets(
    scores: dict[str, np.ndarray], chosen: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """The sets of predictors to try: those that were chosen, or all that the model gives.

    A column that equals another one is not tried twice.
    """
    if chosen:
        sets = [tuple(part.strip() for part in one.split("+")) for one in chosen]
        for name in (name for one in sets for name in one):
            if name not in scores or name == "unknown":
                known = ", ".join(sorted({*scores} - {"unknown"}))
                raise InputError(f"--predictors {name}: unknown; the models give {known}")
        return sets
    first, *further = [name for name in scores if name.startswith(SURPRISAL)]
    different = [
        name for name in further if not np.allclose(scores[name], scores[first], equal_nan=True)
    ]
    sets = [(name,) for name in (first, *different)]
    if ENTROPY in scores:
        sets += [(ENTROPY,), (SURPRISAL, ENTROPY)]
    return sets


def _number_blocks(sentences: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Number the blocks of neighbouring words of a text; all subjects of a word are in one."""
    keys = np.stack([sentences, positions // _BLOCK], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].ravel()


def _make_folds(sentences: np.ndarray, blocks: np.ndarray, options: ReadingOptions) -> np.ndarray:
    """Put whole texts into folds of even size, or blocks of words if there are few texts."""
    found = np.unique(sentences)
    units = sentences if len(found) >= options.folds else blocks
    names, number, sizes = np.unique(units, return_inverse=True, return_counts=True)
    order = np.random.default_rng(options.seed).permutation(len(names))
    filled = np.zeros(options.folds)
    fold_of = np.empty(len(names), dtype=np.int64)
    for unit in order:
        fold_of[unit] = int(np.argmin(filled))
        filled[fold_of[unit]] += sizes[unit]
    return fold_of[number.ravel()]
