"""`elman reading-times`: does the surprisal of models explain reading times?"""

import json as json_module
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Json, Threads, WholeNumber, use_threads
from elman.cli.output import counted, note, print_json, print_table
from elman.errors import InputError
from elman.evaluation.bootstrap import DRAWS
from elman.figures.files import make_folder, writing
from elman.figures.reading_times import draw_reading_times
from elman.formats.reading_times_r import write_r_script
from elman.json_safe import json_safe
from elman.tasks.language_modelling.reading_results import (
    ReadingOptions,
    ReadingResult,
    ReadingStudy,
)
from elman.tasks.language_modelling.reading_times import column_name, study_reading_times
from elman.tasks.language_modelling.word_predictors import count_frequencies
from elman.tasks.language_modelling.written_runs import open_written
from elman.text.corpora import open_document
from elman.text.reading_times import ROLES, read_reading_times
from elman.text.tables import check_columns, parse_columns


@Parameter(name="*")
@dataclass(kw_only=True)
class ReadingFlags:
    """The table and the regression."""

    columns: str = ""
    (
        "The columns of the table: word=…, time=…, sentence=… (several joined by +), position=…, "
        "subject=…, frequency=… (counts) or log_frequency=…. Default: common names."
    )
    frequencies: str | None = None
    "Count word frequencies in this text or corpus, instead of a column of the table."
    spillover: WholeNumber = 2
    "The number of preceding words to include as predictors."
    predictors: str = ""
    (
        "Sets of predictors, separated by commas: surprisal,surprisal+entropy. Default: each kind "
        "of surprisal, entropy, and both."
    )
    folds: WholeNumber = 10
    "The number of folds for the held-out likelihood. Texts stay whole if there are enough."
    log_times: bool = False
    "Regress the logarithm of the times."
    between: str = ""
    "Use only times between these two, such as 100,3000."
    keep_unknown: bool = False
    "Keep rows with out-of-vocabulary words. By default, they are left out for all runs."
    draws: WholeNumber = DRAWS
    "The number of bootstrap samples."
    seed: WholeNumber = 0
    "The random seed of the folds and of the bootstrap."

    def options(self) -> ReadingOptions:
        """The options in the form that the study takes."""
        shortest, longest = _limits(self.between)
        return ReadingOptions(
            spillover=self.spillover,
            folds=self.folds,
            seed=self.seed,
            predictors=tuple(one.strip() for one in self.predictors.split(",") if one.strip()),
            log_times=self.log_times,
            keep_unknown=self.keep_unknown,
            shortest=shortest,
            longest=longest,
            draws=self.draws,
        )


def reading_times(
    table: Annotated[str, Parameter(help="A table with one word per row and a header.")],
    /,
    *,
    run: Annotated[
        tuple[str, ...],
        Parameter(
            name="--run",
            help="A run folder. Can be repeated. RUN+ADAPTER wraps it in an adapter, NAME=RUN "
            "names it: mixture=runs/lstm+mix:run=runs/kn5.",
        ),
    ],
    flags: ReadingFlags | None = None,
    out: str | None = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure how well the surprisal of models predicts reading times.

    Regresses the times on word length, log frequency and the predictors of each model, for the word
    and the words before it (spill-over). Prints the gain in cross-validated log likelihood per row
    over length and frequency alone (ΔLL), with a 95 % interval; the slopes; and a test of linearity
    with splines. If the table has a column of subjects, each subject gets a random intercept. All
    runs are compared on the same rows.

    For example:
      elman reading-times stories.tsv --run runs/kn5 --run runs/lstm --frequencies wikitext-2
      elman reading-times stories.tsv --run runs/kn5 --columns time=gmeanItemRT --out study
      elman reading-times spr.csv --run runs/kn5 --columns subject=WorkerId,time=RT --log-times

    Parameters
    ----------
    out
        Write into this folder: words.tsv (rows and predictors), results.json, a picture, and an R
        script that repeats the regressions.
    """
    flags = flags or ReadingFlags()
    options = flags.options()
    columns = check_columns(parse_columns(flags.columns), ROLES) if flags.columns else {}
    times = read_reading_times(open_document(table), columns)
    folder = None if out is None else make_folder(out)
    counts = None if flags.frequencies is None else count_frequencies(flags.frequencies)
    use_threads(threads)
    with counted("tokens") as progress:
        models = [open_written(one, progress) for one in run]
        study = study_reading_times(
            models, times, counts=counts, options=options, progress=progress
        )
    if folder is not None:
        _write(study, folder)
    if json:
        print_json(study.to_data())
        return
    _print(study)
    for message in study.notes:
        note(message)


def _limits(written: str) -> tuple[float, float]:
    if not written:
        return 0.0, math.inf
    try:
        shortest, longest = (float(part) for part in written.split(","))
    except ValueError:
        raise InputError(f"--between {written}: give two times, such as 100,3000") from None
    return shortest, longest


def _print(study: ReadingStudy) -> None:
    left_out = "".join(f"; {number:,} {reason}" for reason, number in study.left_out.items())
    print(f"{study.rows:,} rows: {study.used:,} used{left_out and '; left out'}{left_out[1:]}")
    if study.subjects:
        print(f"subjects: {study.subjects:,}, each with a random intercept")
    print()
    places = [*range(study.protocol["spillover"] + 1)]
    shown = ["this word", *(f"{back} back" for back in places[1:])]
    rows = [_row(result, places) for result in study.results]
    print_table(["run", "predictors", "ΔLL per row", "95 %", *shown, "spline: ΔLL", "p"], rows)
    unit = "log time" if study.protocol["times"] == "log" else "time"
    print(f"slopes: {unit} per bit of the first predictor, with t in brackets")
    if study.differences:
        print()
        print_table(
            ["difference of ΔLL", "", "95 %", "p"],
            [
                [
                    f"{one.second} − {one.first}",
                    f"{one.difference:+.4f}",
                    f"{one.low:+.4f} … {one.high:+.4f}",
                    f"{one.p_value:.4f}",
                ]
                for one in study.differences
            ],
        )
    protocol = study.protocol
    print(
        f"ΔLL in nats over {', '.join(protocol['controls'])}; {protocol['folds']} folds of "
        f"{protocol['folds_of']}; {protocol['interval']}"
    )


def _row(result: ReadingResult, places: list[int]) -> list[Any]:
    slopes = [
        "–" if math.isnan(one.value) else f"{one.value:+.3f} ({one.t:+.1f})"
        for one in result.coefficients[: len(places)]
    ]
    bend, linearity = ["", ""], result.linearity
    if linearity is not None:
        bend = [f"{linearity.held_out:+.4f}", f"{linearity.p_value:.2g}"]
    interval = f"{result.low:+.4f} … {result.high:+.4f}"
    return [result.run, result.predictors, f"{result.delta:+.4f}", interval, *slopes, *bend]


def _write(study: ReadingStudy, folder: Path) -> None:
    """Write the table, the results, the picture and the R script."""
    columns = study.columns
    lines = [
        "\t".join(columns),
        *("\t".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    _write_text(folder / "words.tsv", "".join(f"{line}\n" for line in lines))
    data = json_safe(study.to_data())
    _write_text(folder / "results.json", json_module.dumps(data, ensure_ascii=False, indent=1))
    draw_reading_times(study, folder / "reading-times.png")
    places = range(study.protocol["spillover"] + 1)
    named = {
        _title(result): [
            column_name(f"{name}_{result.run}", back)
            for name in result.predictors.split("+")
            for back in places
        ]
        for result in study.results
    }
    controls = [column_name(name, back) for name in study.protocol["controls"] for back in places]
    knots = {_title(one): one.linearity.knots for one in study.results if one.linearity is not None}
    script = write_r_script(controls, named, knots, subjects=bool(study.subjects))
    _write_text(folder / "repeat.R", script)


def _title(result: ReadingResult) -> str:
    return f"{result.run} {result.predictors}"


def _write_text(path: Path, text: str) -> None:
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
