"""`elman evaluate`: perplexity and bits per byte of a language model, or the measures of a task."""

from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import (
    Adapters,
    Columns,
    Data,
    Json,
    Reset,
    Run,
    Split,
    Threads,
    Verify,
    WholeNumber,
    use_threads,
)
from elman.cli.output import counted, note, print_json, print_table
from elman.errors import InputError
from elman.evaluation.measures import TaskMeasures
from elman.figures.files import check_file
from elman.figures.reliability import draw_reliability
from elman.tasks.task import load
from elman.tasks.trained import Trained
from elman.text.tables import parse_columns

_STREAM = Parameter(show_default=lambda _: "stream")
_SHOWN = 30  # mistakes; --json lists all


@Parameter(name="*")
@dataclass(kw_only=True)
class MeasureFlags:
    """Options of the evaluation; which of them apply depends on the kind of run."""

    reset: Annotated[Reset | None, _STREAM] = None
    batch_size: WholeNumber | None = None
    "The number of rows per batch. Does not change the result. Default: 1, or 64 for translation."
    window: WholeNumber | None = None
    "The number of tokens to score at a time. Does not change the result."
    accuracy: bool = False
    "Also report how often the most probable token is the correct one."
    after: str | None = None
    "With --accuracy: count only the tokens after this one in each line, such as = before a result."
    until: str | None = None
    "With --after: count only up to the next occurrence of this token."
    confusion: bool = False
    "For taggers and classifiers: also print the confusions, most frequent first."
    reliability: str | None = None
    (
        "For taggers and classifiers: draw the accuracy of predictions by their probability to "
        "this file (.png or .svg)."
    )
    beam: WholeNumber | None = None
    "For translation runs: the beam width; 1 is greedy search. Default: 5."
    tokenize: str | None = None
    (
        "For translation runs: the tokenizer of BLEU: 13a, none, intl, char or zh. Default: none "
        "if spaces already separate punctuation, otherwise 13a."
    )

    def given(self) -> dict[str, Any]:
        """The options that were given."""
        return {n: v for n, v in vars(self).items() if v is not None and v is not False}


def evaluate(
    run: Run,
    /,
    *,
    data: Data,
    split: Split = None,
    columns: Columns = None,
    with_: Adapters = (),
    flags: MeasureFlags | None = None,
    verify: Verify = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Evaluate a run on a dataset: perplexity, or the measures of its task.

    For example:
      elman evaluate runs/ptb --data ptb
      elman evaluate runs/ptb --data ptb --with cache
      elman evaluate runs/ptb --data ptb --with cache:decay=0.02,window=500 --json
      elman evaluate runs/ptb --data ptb --with mix:run=runs/other
      elman evaluate runs/sums --data arithmetic --accuracy --after =
      elman evaluate runs/ner --data ner/test.txt --confusion
      elman evaluate runs/en-de --data multi30k --split test_2016_flickr --beam 5
    """
    options = (flags or MeasureFlags()).given()
    use_threads(threads)
    trained: Any = load(run, verify=verify)
    _refuse(run, trained, [*options, *["with"] * bool(with_)])
    confusion, drawn = options.pop("confusion", False), options.pop("reliability", None)
    picture = None if drawn is None else check_file(drawn, "the reliability diagram")
    if columns is not None:
        trained = trained.with_columns(parse_columns(columns))
    if with_:
        with counted("fitting, tokens") as progress:
            start_anew = {name: options[name] for name in ("reset",) if name in options}
            trained = trained.with_adapters(with_, data, **start_anew, progress=progress)
    with counted("evaluating") as progress:
        if "progress" in _taken(trained):
            options["progress"] = progress
        measures: TaskMeasures = trained.evaluate(data, split=split, **options)
    if picture is not None:
        draw_reliability(vars(measures)["calibration"], picture)
    for message in [*trained.notes_on(data, split), *measures.notes()]:
        note(message)
    if json:
        print_json({"run": run, **measures.to_data(), "model": trained.describe_model()})
        return
    _print(run, measures, f"with: {_settings(trained.describe_model())}" if with_ else "")
    if confusion:
        _print_mistakes(measures.mistakes())


def _taken(trained: Trained) -> set[str]:
    """The options that the evaluation of a run takes."""
    methods = [getattr(trained, name) for name in ("evaluate", "measure")]
    taken = {name for method in methods for name in signature(method).parameters}
    if hasattr(trained, "with_adapters"):
        taken.add("with")
    further = {"confusion": trained.confuses, "reliability": trained.calibrates}
    return taken | {name for name, applies in further.items() if applies}


def _refuse(run: str, trained: Trained, given: list[str]) -> None:
    """Refuse options that do not apply to a run."""
    for name in given:
        if name not in _taken(trained):
            flag = name.replace("_", "-")
            raise InputError(
                f"--{flag} does not apply to {run}, which is {trained.about}; leave it out"
            )


def _print(run: str, measures: TaskMeasures, adapted: str) -> None:
    """Print the measures as tables, then their protocol; `adapted` describes the adapters."""
    print_table(["measure", run], measures.rows())
    for table in measures.tables():
        print()
        print_table(table.header, table.rows)
    if scores := measures.scores():
        print()
        rows = [
            [label, score.precision, score.recall, score.f1, score.count]
            for label, score in scores.items()
        ]
        print_table(["", "precision", "recall", "F1", "count"], rows)
    for line in [*([adapted] if adapted else []), *measures.footnotes()]:
        print(line)


def _print_mistakes(mistakes: list[tuple[str, str, int]]) -> None:
    """Print the confusions, most frequent first."""
    if not mistakes:
        note("no confusions")
        return
    total = sum(count for _, _, count in mistakes)
    rows: list[list[Any]] = [
        [right, guess, count, f"{count / total:.1%}"] for right, guess, count in mistakes[:_SHOWN]
    ]
    print()
    print_table(["correct", "predicted", "count", "of all mistakes"], rows)
    if len(mistakes) > _SHOWN:
        print(f"and {len(mistakes) - _SHOWN:,} more kinds of mistake (--json lists all)")


def _settings(description: dict[str, Any]) -> str:
    """The parts of an adapted model, with their given or fitted settings."""
    if description["model"] == "mixture":
        parts = zip(description["models"], description["weights"], strict=True)
        return " + ".join(f"{weight:.3f} {_settings(part)}" for part, weight in parts)
    if "around" not in description:
        return str(description["model"])
    own = {key: value for key, value in description.items() if key not in ("model", "around")}
    written = ",".join(f"{key}={_short(value)}" for key, value in own.items())
    return f"{description['model']}:{written} ({_settings(description['around'])})"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
