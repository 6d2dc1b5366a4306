"""`elman compare`: several runs on one text."""

from elman.cli.arguments import Data, Json, Reset, Split
from elman.cli.output import note, print_json, print_table, stages


def compare(
    run: str,
    /,
    *others: str,
    data: Data,
    split: Split = None,
    reset: Reset = "stream",
    json: Json = False,
) -> None:
    """Measure several runs on one text; a paired bootstrap over lines says whether the
    differences to the first could be luck.

    For example:
      elman compare runs/kn runs/laplace --data ptb
      elman compare runs/words runs/characters --data novel.txt --json

    Parameters
    ----------
    run
        The run to compare the others with.
    others
        More runs.
    """
    from elman.tasks.comparison import FEWEST_LINES
    from elman.tasks.comparison import compare as compare_models
    from elman.tasks.language_model import load

    with stages() as progress:
        rows = compare_models(
            [load(r) for r in (run, *others)], data, split=split, reset=reset, progress=progress
        )
    if json:
        print_json([row.to_data() for row in rows])
        return
    table = []
    for row in rows:
        against = row.against_first
        change = interval = p_value = ""
        if against is not None:
            scale = 100 / rows[0].measurement.nats
            change = f"{against.difference * scale:+.2f}"
            interval = f"{against.low * scale:+.2f} … {against.high * scale:+.2f}"
            p_value = f"{against.p_value:.4f}"
        m = row.measurement
        table.append([row.name, m.perplexity, m.bits_per_byte, change, interval, p_value])
    print_table(["run", "perplexity", "bits/byte", "surprisal %", "95 % of draws", "p"], table)
    for row in rows:
        print(f"{row.name}: {row.measurement.protocol}")
    if rows[0].measurement.lines < FEWEST_LINES:
        note(f"fewer than {FEWEST_LINES} lines: too few to say whether differences are luck")
    if not all(row.perplexity_comparable for row in rows):
        note("perplexities are per token, and the tokens differ: compare bits per byte instead")
    if any(row.measurement.unknown for row in rows):
        note("unknown words are scored as one word <unk>, which makes bits per byte look better")
