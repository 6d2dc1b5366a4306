"""`elman study race`: the lowest perplexity for a budget of operations."""

from elman.cli.arguments import (
    Columns,
    Data,
    Device,
    Json,
    Settings,
    Threads,
    WholeNumber,
    with_data_flags,
)
from elman.cli.output import note, print_json, print_table, watched
from elman.errors import InputError
from elman.experiments.race import LINES, table
from elman.experiments.race import race as run_race
from elman.training.processes import Processes


def race(
    *,
    data: Data,
    out: str,
    budget: str,
    recipe: str = "quick",
    set: Settings = (),
    seeds: WholeNumber = 3,
    final: bool = False,
    columns: Columns = None,
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Train a recipe within a budget of operations and compare perplexities.

    The number of epochs fits the budget, unless --set training.epochs is given; a training that
    needs more is refused. Every lap is a line of race.jsonl in the folder. The same command skips
    finished laps and continues interrupted ones. Tune with the validation figures; the test text is
    only scored with --final, once per lap.

    For example:
      elman study race --budget 70teraflop --data ptb --out runs/race
      elman study race --budget 7teraflop --seeds 1 --set model.hidden_size=200 --data ptb --out r
      elman study race --budget 400teraflop --recipe hour --data ptb --out runs/race --final

    Parameters
    ----------
    out
        The folder for the runs, one subfolder each, and for race.jsonl.
    budget
        Operations of a training, forward and backward: 70teraflop, 0.4petaflop.
    recipe
        A shipped recipe or a file.
    seeds
        The number of trainings, with the seeds 1, 2, 3 …
    final
        Also score the test text, once per lap.
    """
    if seeds < 1:
        raise InputError(f"--seeds {seeds}: must be at least 1")
    overrides = with_data_flags(recipe, set, columns)
    settings = {"device": device, "threads": threads, "processes": Processes()}
    with watched(settings) as (machine, progress):
        laps = run_race(
            recipe,
            data=data,
            out=out,
            budget=budget,
            overrides=overrides,
            seeds=range(1, seeds + 1),
            final=final,
            machine=machine,
            progress=progress,
        )
    if json:
        print_json([lap.to_data() for lap in laps])
        return
    print_table(*table(laps))
    note(f"every lap is a line of {out}/{LINES}")
