"""`elman compare`: compare several runs on one text."""

from elman.cli.arguments import Data, Json, Reset, Split
from elman.cli.output import note, print_json, print_table, stages
from elman.tasks.language_modelling.comparison import FEWEST_LINES, Comparison
from elman.tasks.language_modelling.comparison import compare as compare_models
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load


def compare(
    run: str,
    /,
    *others: str,
    data: Data,
    split: Split = None,
    reset: Reset = "stream",
    json: Json = False,
) -> None:
    """Compare several language models on one text.

    A paired bootstrap over lines tests whether each difference from the first run could be chance.

    For example:
      elman compare runs/kn runs/laplace --data ptb
      elman compare runs/words runs/characters --data novel.txt --json

    Parameters
    ----------
    run
        The run folder of the baseline.
    others
        The run folders to compare with it.
    """
    with stages() as progress:
        models = [load(r, TrainedModel) for r in (run, *others)]
        rows = compare_models(models, data, split=split, reset=reset, progress=progress)
    if json:
        print_json([row.to_data() for row in rows])
        return
    _print(rows)
    _note(rows)


def _print(rows: list[Comparison]) -> None:
    scale = 100 / rows[0].measurement.nats
    table = []
    for row in rows:
        measured, against = row.measurement, row.against_first
        luck = ["", "", ""]
        if against is not None:
            interval = f"{against.low * scale:+.2f} … {against.high * scale:+.2f}"
            luck = [f"{against.difference * scale:+.2f}", interval, f"{against.p_value:.4f}"]
        table.append([row.name, measured.perplexity, measured.bits_per_byte, *luck])
    print_table(["run", "perplexity", "bits/byte", "surprisal %", "95 % of draws", "p"], table)
    for row in rows:
        print(f"{row.name}: {row.measurement.protocol}")


def _note(rows: list[Comparison]) -> None:
    """Warn where the figures can mislead."""
    if rows[0].measurement.lines < FEWEST_LINES:
        note(f"fewer than {FEWEST_LINES} lines: too few to tell differences from chance")
    if not all(row.perplexity_comparable for row in rows):
        note("perplexities are per token, and the tokens differ: compare bits per byte instead")
    if any(row.measurement.unknown for row in rows):
        note("out-of-vocabulary words count as <unk>, so bits per byte look better than they are")
