"""`elman plan`: estimate the cost of a training on this machine before it starts."""

from elman.cli.arguments import (
    BudgetText,
    Columns,
    Data,
    Device,
    EngineName,
    Json,
    Memory,
    Recipe,
    Seed,
    Settings,
    SplitBy,
    Strict,
    Threads,
    resources,
    with_data_flags,
)
from elman.cli.output import duration, note, print_json, print_table, stages
from elman.tasks.recipe_choice import choose_recipe
from elman.tasks.task import Plan
from elman.tasks.task import plan as make_plan
from elman.text.tables import parse_columns
from elman.training.budget import Budget
from elman.training.machine import Machine

_WORTH_SAYING = 1.0  # seconds


def plan(
    recipe: Recipe | None = None,
    /,
    *,
    data: Data,
    set: Settings = (),
    columns: Columns = None,
    split_by: SplitBy = None,
    strict: Strict = False,
    seed: Seed = None,
    budget: BudgetText = None,
    device: Device = "cpu",
    threads: Threads = None,
    engine: EngineName = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Estimate what a training costs on this machine: operations, memory, minutes.

    elman trains a few steps on the data, measures them and discards the model. Name a recipe, or
    give a budget, for which elman chooses one. For n-gram models, it also estimates the number of
    n-grams and the disk space.

    For example:
      elman plan quick --data my-text.txt
      elman plan --data my-text.txt --budget 10m
      elman plan ngram --data texts/ --memory 2G
      elman plan awd-lstm --data ptb --set model.hidden_size=[400,400,200]
    """
    if recipe is None and budget is not None and columns is not None:
        recipe = choose_recipe(data, Budget.parse(budget), parse_columns(columns))
    with stages() as progress:
        cost = make_plan(
            recipe,
            data=data,
            overrides=with_data_flags(recipe or "ngram", set, columns, split_by, strict),
            seed=seed,
            budget=budget,
            machine=Machine(
                device=device, threads=threads, counting=resources(engine, memory, None)
            ),
            progress=progress,
        )
    if json:
        print_json(cost)
        return
    for message in cost.notes:
        note(message)
    if cost.settings:
        print(f"chosen for {budget}: {', '.join(cost.settings)}")
    _print(cost)


def _print(cost: Plan) -> None:
    print_table(["plan", cost.recipe], _rows(cost))


def _rows(cost: Plan) -> list[list[str]]:
    """What a plan says; without operations, if it has none."""
    memory, unit = cost.memory_gigabytes, cost.unit
    rows = [
        ["n-grams" if cost.engine else "parameters", f"{cost.parameters:,}"],
        [f"{unit} × epochs", f"{cost.tokens:,} × {cost.epochs:g}"],
    ]
    speed = f"{cost.tokens_per_second:,.0f} {unit}/s"
    if cost.steps:
        rows += [
            ["steps", f"{cost.steps:,}"],
            [f"multiply-adds per {unit.removesuffix('s')}", f"{cost.multiplications:,}"],
            ["operations", f"{cost.teraflop:,.4g} teraflop"],
            ["and for validation", f"{cost.validation_teraflop:,.3g} teraflop"],
        ]
        speed += f", {cost.gigaflops:,.0f} GFLOP/s"
    if cost.engine:
        rows.append(["engine", cost.engine])
    rows += [
        ["memory", "–" if memory is None else f"{memory:.1f} GB"],
        ["run folder", f"{cost.disk_megabytes:,.0f} MB"],
    ]
    if cost.work_megabytes:
        rows.append(["disk while counting", f"{cost.work_megabytes:,.0f} MB"])
    threads = "1 thread" if cost.threads == 1 else f"{cost.threads} threads"
    time_here = f"{duration(cost.seconds)} with {threads}"
    if cost.reading_seconds >= _WORTH_SAYING:
        time_here += f", after {duration(cost.reading_seconds)} of reading the data"
    return [*rows, ["speed here", speed], ["time here", time_here]]
