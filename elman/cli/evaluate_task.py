"""`elman evaluate` of a run that is no language model: the measures of its task.

Called by `evaluate.py`. Whatever a task gives (`evaluation/task_measures.py`) is printed here.
"""

from pathlib import Path
from typing import Any

from elman.cli.output import counted, note, print_json, print_table
from elman.errors import InputError
from elman.evaluation.task_measures import TaskMeasures
from elman.tasks.sentence_training import load_task
from elman.text.named_columns import parse_columns

_WRITER = "encoder-decoder"
_SHOWN = 30  # mistakes; --json has them all


def evaluate_task(
    run: str,
    data: str,
    split: str | None,
    *,
    columns: str | None,
    confusion: bool,
    json: bool,
    options: dict[str, Any],
) -> None:
    """Measure, and print; `options`: of the task's own `evaluate`, like `beam`."""
    trained: Any = load_task(Path(run))
    if columns is not None:
        trained.use_columns(parse_columns(columns))
    writes = trained.config.kind == _WRITER
    if options and not writes:
        name = next(iter(options)).replace("_", "-")
        raise InputError(f"--{name} is for runs that write texts, and {run} does not")
    measures: TaskMeasures
    if writes:
        with counted("translating, lines") as progress:
            measures = trained.evaluate(data, split=split, progress=progress, **options)
    else:
        measures = trained.evaluate(data, split=split)
    if confusion and not json and not measures.mistakes():
        note("nothing was taken for anything else")
    for message in [*trained.notes, *measures.notes()]:
        note(message)
    if trained.has_seen(data, split):
        note("this is the text that the run was trained on; measure on text it has not seen")
    if json:
        print_json({"run": run, **measures.to_data(), "model": trained.model.facts()})
        return
    print_table(["measure", run], measures.rows())
    for table in measures.tables():
        print()
        print_table(table.header, table.rows)
    _print_scores(measures)
    for footnote in measures.footnotes():
        print(footnote)
    if confusion:
        _print_mistakes(measures)


def refuse_for_task(run: str, flags: dict[str, bool]) -> None:
    """Refuse what only language models have; `flags`: as they are written, and whether given."""
    given = [name for name, is_given in flags.items() if is_given]
    if given:
        raise InputError(f"{given[0]} is for language models, and {run} is none; leave it out")


def _print_scores(measures: TaskMeasures) -> None:
    scores = measures.scores()
    if not scores:
        return
    print()
    rows = [
        [label, score.precision, score.recall, score.f1, score.count]
        for label, score in scores.items()
    ]
    print_table(["", "precision", "recall", "F1", "count"], rows)


def _print_mistakes(measures: TaskMeasures) -> None:
    """What was taken for what, the most frequent mistakes first."""
    mistakes = measures.mistakes()
    if not mistakes:
        return
    total = sum(count for _, _, count in mistakes)
    rows: list[list[Any]] = [
        [right, guess, count, f"{count / total:.1%}"] for right, guess, count in mistakes[:_SHOWN]
    ]
    print()
    print_table(["right", "taken for", "times", "of all mistakes"], rows)
    if len(mistakes) > _SHOWN:
        print(f"and {len(mistakes) - _SHOWN:,} more kinds of mistake (--json has them all)")
