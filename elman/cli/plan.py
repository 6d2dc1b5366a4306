"""`elman plan`: estimate the cost of a training on this machine before it starts."""

from elman.cli.arguments import (
    BudgetText,
    Columns,
    Data,
    Device,
    Json,
    Recipe,
    Seed,
    Settings,
    SplitBy,
    Strict,
    Threads,
    with_data_flags,
)
from elman.cli.output import duration, note, print_json, print_table, stages
from elman.tasks.recipe_choice import choose_recipe
from elman.tasks.task import Plan
from elman.tasks.task import plan as make_plan
from elman.training.budget import Budget
from elman.training.machine import Machine


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
    json: Json = False,
) -> None:
    """Estimate what a training costs on this machine: operations, memory, minutes.

    elman trains a few steps on the data, measures them and discards the model. Name a recipe, or
    give a budget, for which elman chooses one.

    For example:
      elman plan quick --data my-text.txt
      elman plan --data my-text.txt --budget 10m
      elman plan awd-lstm --data ptb --set model.hidden_size=[400,400,200]
    """
    if recipe is None and budget is not None and columns is not None:
        recipe = choose_recipe(data, Budget.parse(budget))
    with stages() as progress:
        cost = make_plan(
            recipe,
            data=data,
            overrides=with_data_flags(recipe or "ngram", set, columns, split_by, strict),
            seed=seed,
            budget=budget,
            machine=Machine(device=device, threads=threads),
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
    memory = cost.memory_gigabytes
    print_table(
        ["plan", cost.recipe],
        [
            ["parameters", f"{cost.parameters:,}"],
            [f"{cost.unit} × epochs", f"{cost.tokens:,} × {cost.epochs:g}"],
            ["steps", f"{cost.steps:,}"],
            [f"multiply-adds per {cost.unit.removesuffix('s')}", f"{cost.multiplications:,}"],
            ["operations", f"{cost.teraflop:,.4g} teraflop"],
            ["and for validation", f"{cost.validation_teraflop:,.3g} teraflop"],
            ["memory", "–" if memory is None else f"{memory:.1f} GB"],
            ["run folder", f"{cost.disk_megabytes:,.0f} MB"],
            [
                "speed here",
                f"{cost.tokens_per_second:,.0f} {cost.unit}/s, {cost.gigaflops:,.0f} GFLOP/s",
            ],
            ["time here", f"{duration(cost.seconds)} with {cost.threads} threads"],
        ],
    )
