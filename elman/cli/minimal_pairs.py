"""`elman minimal-pairs`: does a model prefer the good sentence?"""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from elman.cli.arguments import Json
from elman.cli.given import read_given
from elman.cli.output import counted, note, print_json, print_table
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.evaluation.judgements import Score
    from elman.tasks.minimal_pairs import PairScores

_GIVEN = Parameter(
    name="RUN... FILE",
    help="Run folders, and last what they are tried on: JSON lines as BLiMP has them, a suite as "
    "SyntaxGym has it, a folder of such files, - for standard input, or grammar: agreement in the "
    "built-in language.",
    allow_leading_hyphen=True,
)


def minimal_pairs(
    *given: Annotated[str, _GIVEN],
    per_token: bool = False,
    items: bool = False,
    json: Json = False,
) -> None:
    """How often a model holds the good sentence of a minimal pair likelier than the bad one.

    What is compared is the log probability of whole sentences, the line end included. Of suites in
    regions, it is what their predictions say of the surprisal of regions. Accuracy is over items
    all of whose words are known; the others are counted by themselves. A tie is not right.

    For example:
      elman minimal-pairs runs/lstm grammar
      elman minimal-pairs runs/kn5 runs/lstm blimp/
      elman minimal-pairs runs/lstm suite.json --items > items.tsv

    Parameters
    ----------
    per_token
        Compare the mean per token instead of the sum: shorter sentences have no advantage then.
    items
        One row per pair, or per prediction about an item, with tabs: what each model gave it.
    """
    from elman.tasks.language_model import load
    from elman.tasks.minimal_pairs import judge, material_of, read_material

    *runs, file = _checked(given)
    materials = [material_of(read_given(file, None))] if file == "-" else read_material(file)
    scores = []
    with counted("tokens") as progress:
        for run in runs:
            scores.append(judge(load(run), materials, per_token=per_token, progress=progress))
    if json:
        print_json([score.to_data(items=items) for score in scores])
    elif items:
        _print_items(scores)
    else:
        _print(scores)
        _note(scores)


def _checked(given: tuple[str, ...]) -> tuple[str, ...]:
    for argument in given:
        if argument.startswith("-") and argument != "-":
            raise InputError(f"unknown option {argument} (--help shows how to call it)")
    if len(given) < 2:
        raise InputError("give at least one run, and last a file of pairs (or grammar)")
    return given


def _print(scores: list["PairScores"]) -> None:
    """Accuracies side by side; then what they are over, run by run."""
    names = [score.run for score in scores]
    first = scores[0]
    rows = [
        _row(f"  {p.name}", [s.by_paradigm[n] for s in scores])
        for n, p in enumerate(first.by_paradigm)
    ]
    if len(first.by_field) > 1:
        rows += [
            _row(f"  field: {field.name}", [s.by_field[n] for s in scores])
            for n, field in enumerate(first.by_field)
        ]
    rows.append(_row("all", [score.overall for score in scores]))
    print_table(["accuracy in %", "items", *names], rows)
    print()
    overall = [score.overall for score in scores]
    print_table(
        ["run", "words known", "ties", "with unknown words", "right of these, %"],
        [
            [s.run, one.items, one.ties, one.unknown_items, _percent(one.unknown_accuracy)]
            for s, one in zip(scores, overall, strict=True)
        ],
    )


def _row(name: str, scores: list["Score"]) -> list[object]:
    items = scores[0].items + scores[0].unknown_items
    return [name, items, *(_percent(score.accuracy) for score in scores)]


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"


def _note(scores: list["PairScores"]) -> None:
    if len({tuple(item.judgement.unknown for item in score.items) for score in scores}) > 1:
        note("the runs know different words, so their accuracies are not over the same items")
    if any(score.overall.unknown_items for score in scores):
        note("accuracy in % is over items all of whose words are known")


def _print_items(scores: list["PairScores"]) -> None:
    from elman.tasks.minimal_pairs import flat

    rows = [{"run": score.run, **flat(item)} for score in scores for item in score.items]
    names = [*rows[0]]
    if any([*row] != names for row in rows):
        raise InputError("pairs and suites have different columns; give --json, or one of the two")
    print("\t".join(names))
    for row in rows:
        print("\t".join(_cell(row[name]) for name in names))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, dict):
        return " ".join(f"{name}={number:.4f}" for name, number in value.items())
    return f"{value:.6f}" if isinstance(value, float) else str(value)
