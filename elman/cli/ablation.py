"""`elman study ablation`: which parts of a recurrent cell matter?"""

from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Json, Settings, WholeNumber
from elman.cli.output import print_json, print_table, stages
from elman.errors import InputError
from elman.experiments.ablation import STUDIED, TASKS, CellResult, run_ablation

_TASK = Parameter(help=f"The task to learn: {' or '.join(TASKS)}.")


def ablation(
    *cells: str,
    task: Annotated[str, _TASK] = "arithmetic",
    seeds: WholeNumber = 3,
    out: str = "runs/ablation",
    data: str | None = None,
    set: Settings = (),
    at_once: WholeNumber | None = None,
    json: Json = False,
) -> None:
    """Compare recurrent cells, complete and with one gate removed.

    Every cell learns a small task, after Józefowicz et al. (2015). All models have about the same
    number of parameters, and the same recipe, texts and number of steps. Run folders are kept: the
    same command skips finished runs and continues interrupted ones.

    For example:
      elman study ablation --out runs/ablation
      elman study ablation lstm lstm-f gru --task xml --seeds 5

    Parameters
    ----------
    cells
        Cells to compare (elman list cells). Default: the LSTM, its ablations, the GRU and its
        variants.
    seeds
        Number of trainings per cell, with the seeds 1, 2, 3 …
    out
        The folder for the runs, one subfolder each.
    data
        Change the options of the task's corpus: arithmetic:digits=1,lines=2000.
    at_once
        Number of parallel trainings, one thread each. Default: the number of cores.
    """
    if seeds < 1 or (at_once is not None and at_once < 1):
        raise InputError("--seeds and --at-once must be at least 1")
    with stages() as progress:
        results = run_ablation(
            cells or STUDIED,
            task,
            range(1, seeds + 1),
            out,
            overrides=set,
            data=data,
            at_once=at_once,
            progress=progress,
        )
    if json:
        print_json([result.to_data() for result in results])
        return
    _print(results, seeds)


def _print(results: list[CellResult], seeds: int) -> None:
    rows = [
        [
            result.cell,
            f"{result.mean:.4f}",
            f"{result.spread:.4f}" if seeds > 1 else None,
            result.runs[0].parameters,
            f"{sum(run.seconds for run in result.runs):,.0f}",
        ]
        for result in results
    ]
    print_table(["cell", "accuracy", "±", "parameters", "seconds"], rows)
    print(f"accuracy: correctly predicted characters of the test text; mean over {seeds} seeds")
