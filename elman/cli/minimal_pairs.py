"""`elman minimal-pairs`: does a model prefer the good sentence?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Json, Threads, read_given, use_threads
from elman.cli.output import counted, note, print_json, print_table
from elman.errors import InputError
from elman.evaluation.pair_accuracy import EXCLUSIONS, Score
from elman.evaluation.pairs import DIFFERENCE, SCORED
from elman.evaluation.prefix_tree import KnownScores
from elman.figures.files import check_file
from elman.figures.minimal_pairs import draw_accuracies
from elman.tasks.language_modelling.minimal_pairs import (
    ComparedScores,
    Materials,
    PairScores,
    compare_scores,
    flat,
    judge,
    materials_of,
    read_materials,
)
from elman.tasks.language_modelling.written_runs import open_all
from elman.text.pair_tables import ROLES
from elman.text.tables import check_columns, parse_columns
from elman.wording import several

_GIVEN = Parameter(
    name="RUN... FILE",
    help="Run folders (RUN+ADAPTER wraps a run in an adapter, NAME=RUN names it), then the test "
    "material: JSON lines in the format of BLiMP, a table of pairs, a suite in the format of "
    "SyntaxGym, a folder of such files (subfolders included), NAME.text beside NAME.gold, - for "
    "standard input, or grammar for agreement in the built-in language.",
    allow_leading_hyphen=True,
)
_PREFIXES = {
    "one-prefix": "the critical words after one beginning",
    "two-prefix": "the critical word after two beginnings",
}
_LEVEL = 0.05  # of significance
_NAMED = 5  # how many lines or files a note names


def minimal_pairs(
    *given: Annotated[str, _GIVEN],
    score: str = "sentence",
    exclude_unknown: str = "differing",
    per_token: bool = False,
    columns: str = "",
    intervals: bool = False,
    picture: str | None = None,
    items: bool = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure how often a model prefers the good sentence of a minimal pair.

    Prints the accuracy per paradigm, the mean over paradigms (the figure that BLiMP reports) and
    the mean over all pairs. The column items gives the number of pairs counted. A tie counts as
    wrong. SyntaxGym suites are judged by their own predictions about the surprisal of regions.

    For example:
      elman minimal-pairs runs/lstm grammar
      elman minimal-pairs runs/kn5 runs/lstm blimp
      elman minimal-pairs runs/lstm blimp --score difference
      elman minimal-pairs runs/lstm agreement.tsv --score difference --picture attractors.png
      elman minimal-pairs runs/lstm suite.json --items > items.tsv

    Parameters
    ----------
    score
        The log probability to compare. sentence: of the whole sentence, including the line end.
        difference: only of the critical word that BLiMP files name, given the words before it; in
        other pairs, of the words from the first to the last difference. one-prefix, two-prefix:
        the same, but only for pairs that BLiMP scores by this method.
    exclude_unknown
        The pairs to leave out. differing: pairs whose sentences differ in an out-of-vocabulary word
        (with --score difference, also pairs with an out-of-vocabulary word among the scored words).
        any: pairs with any out-of-vocabulary word. never: no pairs.
    per_token
        Compare the mean per token instead of the sum, so that shorter sentences have no advantage.
    columns
        The columns of a table: good=…, bad=… (two sentences, or two forms of a word), sentence=…
        (with a gap ___ for the forms, or with both forms as [good|bad]), index=… (the position of
        the word that the forms replace), paradigm=…, attractors=…. Give names from the header, or
        numbers from 1 for a table without a header. Default: common names.
    intervals
        Print the 95 % interval of every accuracy (Wilson).
    picture
        Draw the accuracy by number of attractors into this file, .png or .svg; by paradigm if
        the pairs have no number of attractors.
    items
        Print one row per pair, or per prediction about an item, separated by tabs.
    """
    *runs, file = _checked(given)
    _check_choice("--score", score, {**SCORED, **_PREFIXES})
    _check_choice("--exclude-unknown", exclude_unknown, EXCLUSIONS)
    place = None if picture is None else check_file(picture, "a picture")
    named = check_columns(parse_columns(columns), ROLES) if columns else None
    materials = (
        materials_of(read_given(file, None), named) if file == "-" else read_materials(file, named)
    )
    _note_unused(materials)
    if score in _PREFIXES:
        materials = materials.with_prefix(same=score == "one-prefix")
    options: dict[str, Any] = {
        "scored": DIFFERENCE if score in _PREFIXES else score,
        "exclude_unknown": exclude_unknown,
        "per_token": per_token,
    }
    use_threads(threads)
    with counted("tokens") as progress:
        options |= {"known": KnownScores(), "progress": progress}
        scores = [judge(model, materials, **options) for model in open_all(runs, progress)]
    if place is not None:
        draw_accuracies(scores, place)
    compared = compare_scores(scores)
    if json:
        read = {"material": materials.to_data()}
        tests = [None, *(one.to_data() for one in compared)]
        data = (one.to_data(items=items) | read for one in scores)
        print_json([one | {"compared": test} for one, test in zip(data, tests, strict=True)])
    elif items:
        _print_items(scores)
    else:
        _print(scores, intervals)
        _print_compared(compared)
        _note(scores, EXCLUSIONS[exclude_unknown])


def _check_choice(option: str, given: str, known: Mapping[str, str]) -> None:
    if given not in known:
        raise InputError(f"{option} {given}: choose one of {', '.join(known)}")


def _note_unused(materials: Materials) -> None:
    """Report the files and lines that were not used."""
    if materials.passed_over:
        note(
            f"skipped {several(len(materials.passed_over), 'file')} without minimal pairs: "
            f"{_listed(materials.passed_over)}"
        )
    reasons: dict[tuple[str, str], list[int]] = {}
    for line in materials.skipped:
        reasons.setdefault((line.file, line.reason), []).append(line.line)
    for (file, reason), lines in reasons.items():
        number = several(len(lines), "line")
        note(f"{file}: skipped {number} ({_listed([*map(str, lines)])}): {reason}")
    if materials.skipped:
        skipped = len(materials.skipped)
        note(
            f"{materials.pairs + skipped:,} lines read: {materials.pairs:,} pairs used, "
            f"{skipped:,} skipped"
        )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _checked(given: tuple[str, ...]) -> tuple[str, ...]:
    for argument in given:
        if argument.startswith("-") and argument != "-":
            raise InputError(f"unknown option {argument} (--help shows how to call it)")
    if len(given) < 2:
        raise InputError("give one or more runs, then a file of pairs (or grammar)")
    return given


def _print_compared(compared: list[ComparedScores]) -> None:
    """Print the test of every run against the first."""
    if not compared:
        return
    rows = []
    for one in compared:
        better = [t for t in one.by_paradigm.values() if t.p_value < _LEVEL and t.difference > 0]
        worse = [t for t in one.by_paradigm.values() if t.p_value < _LEVEL and t.difference < 0]
        test = one.overall
        names = f"{one.second} − {one.first}"
        points = f"{100 * test.difference:+.1f}"
        split = [test.only_second, test.only_first, f"{test.p_value:.2g}"]
        rows.append([names, test.items, points, *split, len(better), len(worse)])
    print()
    print_table(
        ["difference", "items", "points", "only right", "only wrong", "p", "better", "worse"], rows
    )
    print(
        "p: exact McNemar test; better, worse: paradigms that differ with p < 0.05, not corrected "
        "for their number"
    )


def _print(scores: list[PairScores], intervals: bool) -> None:
    """Print the accuracies side by side, with their counts, then the totals of each run."""
    first = scores[0]
    groups = [[s.by_paradigm[n] for s in scores] for n in range(len(first.by_paradigm))]
    names = [f"  {paradigm.name}" for paradigm in first.by_paradigm]
    if len(first.by_field) > 1:
        groups += [[s.by_field[n] for s in scores] for n in range(len(first.by_field))]
        names += [f"  field: {field.name}" for field in first.by_field]
    if len(first.by_attractors) > 1:
        groups += [[s.by_attractors[n] for s in scores] for n in range(len(first.by_attractors))]
        names += [f"  attractors: {group.name}" for group in first.by_attractors]
    groups.append([score.overall for score in scores])
    names.append("mean over all items" if len(first.by_paradigm) > 1 else "all")
    columns = _columns(groups, [score.run for score in scores], intervals)
    rows = [[name, *cells] for name, cells in zip(names, columns.cells, strict=True)]
    if len(first.by_paradigm) > 1:
        means = [_percent(s.paradigm_mean) for s in scores]
        rows.append(["mean over paradigms", *columns.only_accuracies(means)])
    print_table(["accuracy in %", *columns.names], rows)
    print()
    print_table(
        [
            "run",
            "counted",
            "right",
            "95 %",
            "ties",
            "excluded",
            "excluded, %",
            "right of excluded, %",
        ],
        [
            [
                s.run,
                s.overall.items,
                s.overall.right,
                _interval(s.overall),
                s.overall.ties,
                s.overall.excluded,
                _percent(s.overall.excluded_share),
                _percent(s.overall.excluded_accuracy),
            ]
            for s in scores
        ],
    )


@dataclass(frozen=True)
class _Columns:
    """The columns of a table after its first: names, cells, and which hold accuracies."""

    names: list[str]
    cells: list[list[object]]
    accuracies: list[int]

    def only_accuracies(self, values: list[str | None]) -> list[object]:
        """A row with accuracies only."""
        row: list[object] = [None] * len(self.names)
        for place, value in zip(self.accuracies, values, strict=True):
            row[place] = value
        return row


def _columns(groups: list[list[Score]], runs: list[str], intervals: bool) -> _Columns:
    """Show the number of items once if it is the same for all runs, otherwise beside each run;
    show ties and exclusions only if there are any.
    """
    every = [score for group in groups for score in group]
    counts = ["items"] + ["excluded"] * any(score.excluded for score in every)
    ties = ["ties"] * any(score.ties for score in every)
    alike = all(
        (score.items, score.excluded) == (group[0].items, group[0].excluded)
        for group in groups
        for score in group
    )
    shared, own = (counts, ties) if alike else ([], [*counts, *ties])
    limits = ["95 %"] * intervals
    names, accuracies = [*shared], []
    for run in runs:
        accuracies.append(len(names))
        names += [run, *limits, *own]
    cells = [
        [getattr(group[0], name) for name in shared]
        + [
            cell
            for score in group
            for cell in (
                _percent(score.accuracy),
                *(_interval(score) for _ in limits),
                *(getattr(score, name) for name in own),
            )
        ]
        for group in groups
    ]
    return _Columns(names, cells, accuracies)


def _interval(score: Score) -> str | None:
    found = score.interval
    return None if found is None else "–".join(f"{100 * limit:.1f}" for limit in found)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"


def _note(scores: list[PairScores], excluded: str) -> None:
    if len({tuple(item.judgement.excluded for item in score.items) for score in scores}) > 1:
        note("the runs have different vocabularies, so their accuracies cover different items")
    if any(score.overall.excluded for score in scores):
        note(f"excluded: {excluded}; change this with --exclude-unknown")


def _print_items(scores: list[PairScores]) -> None:
    rows = [{"run": score.run, **flat(item)} for score in scores for item in score.items]
    names = [*rows[0]]
    if any([*row] != names for row in rows):
        raise InputError(
            "pairs and suites have different columns; use --json, or give only one of the two kinds"
        )
    print("\t".join(names))
    for row in rows:
        print("\t".join(_cell(row[name]) for name in names))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, dict):
        return " ".join(f"{name}={number:.4f}" for name, number in value.items())
    return f"{value:.6f}" if isinstance(value, float) else str(value)
