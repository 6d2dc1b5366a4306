"""`elman compare`: compare several runs of one task on the same data."""

from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Data, Json, Reset, Split, Threads, WholeNumber, use_threads
from elman.cli.output import note, print_json, print_table, stages
from elman.evaluation.bootstrap import DRAWS
from elman.tasks.comparison import ComparedPair, Comparison, digits_of
from elman.tasks.comparison import compare as compare_runs
from elman.tasks.language_modelling.comparison import NATS, ComparedModel
from elman.tasks.task import load

_STREAM = Parameter(show_default=lambda _: "stream, for language models")


def compare(
    run: str,
    /,
    *others: str,
    data: Data,
    split: Split = None,
    reset: Annotated[Reset | None, _STREAM] = None,
    draws: WholeNumber = DRAWS,
    seed: WholeNumber = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare several runs of one task on the same data.

    A paired bootstrap over lines, sentences, texts or questions tests for every pair of runs
    whether the difference could be chance. Language models are compared by their surprisal,
    classifiers by accuracy and macro F1, taggers by accuracy and span F1, translators by BLEU and
    chrF, question answering by exact match and F1.

    For example:
      elman compare runs/kn runs/laplace --data ptb
      elman compare runs/words runs/characters --data novel.txt --json
      elman compare runs/small runs/large runs/elmo --data ner --draws 10000

    Parameters
    ----------
    run
        The run folder of the baseline.
    others
        The run folders to compare with it.
    draws
        How many times the bootstrap draws the examples.
    seed
        The random seed of the bootstrap.
    """
    use_threads(threads)
    with stages() as progress:
        runs = [load(r) for r in (run, *others)]
        found = compare_runs(
            runs, data, split=split, reset=reset, draws=draws, seed=seed, progress=progress
        )
    if json:
        print_json(found.to_data())
        return
    _print_runs(found)
    _print_pairs(found)
    for message in [*found.notes, *_notes_on_models(found)]:
        note(message)


def _print_runs(found: Comparison) -> None:
    cells = [row.cells() for row in found.rows]
    columns = [*dict.fromkeys(name for row in cells for name in row)]
    rows = [
        [row.name, *(shown.get(column) for column in columns)]
        for row, shown in zip(found.rows, cells, strict=True)
    ]
    print_table(["run", *columns], rows)
    for row in found.rows:
        if isinstance(row, ComparedModel):
            print(f"{row.name}: {row.measurement.protocol}")


def _print_pairs(found: Comparison) -> None:
    """Print the differences, then those that are too small to tell."""
    if not found.pairs:
        return
    print()
    rows = [_pair_row(found, pair) for pair in found.pairs]
    print_table(["difference", "measure", "", "95 % of draws", "p", "better"], rows)
    print(f"{found.draws:,} draws of {found.examples:,} {found.unit}, seed {found.seed}")
    small = [f"{row[0]} ({row[1]})" for row in rows if row[-1] == "–"]
    if small:
        print(f"too small to tell: {', '.join(small)}")
    if len(found.rows) > 2:
        print("p-values are not corrected for the number of pairs")


def _pair_row(found: Comparison, pair: ComparedPair) -> list[Any]:
    name, result, scale, digits = pair.measure, pair.result, 1.0, 4
    first = next(row for row in found.rows if row.name == pair.first)
    if isinstance(first, ComparedModel) and name == NATS:
        name, scale, digits = "surprisal %", 100 / first.measurement.nats, 2
    elif first.values:
        digits = digits_of(first.values[name].value)
    difference, low, high = (
        f"{value * scale:+.{digits}f}" for value in (result.difference, result.low, result.high)
    )
    names = f"{pair.second} − {pair.first}"
    better = pair.better or ("not ranked" if pair.not_ranked else "–")
    return [names, name, difference, f"{low} … {high}", f"{result.p_value:.4f}", better]


def _notes_on_models(found: Comparison) -> list[str]:
    """Warnings where the figures of language models can mislead."""
    models = [row for row in found.rows if isinstance(row, ComparedModel)]
    notes = []
    if not all(row.perplexity_comparable for row in models):
        notes.append(
            "perplexities are per token, and the tokens differ: compare bits per byte instead"
        )
    if unknown := [row.name for row in models if row.measurement.unknown]:
        notes.append(
            "out-of-vocabulary words count as <unk>, so bits per byte look better than they are: "
            f"{', '.join(dict.fromkeys(unknown))}"
        )
    return notes
