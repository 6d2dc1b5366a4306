"""`elman study vary`: compare variants of a recipe in one table."""

import math
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import (
    Columns,
    Data,
    Device,
    Json,
    Recipe,
    Settings,
    Split,
    Threads,
    WholeNumber,
    with_data_flags,
)
from elman.cli.output import note, print_json, print_table, watched
from elman.errors import InputError
from elman.experiments.vary import Variant
from elman.experiments.vary import vary as vary_recipe
from elman.figures.files import check_file, writing
from elman.training.processes import Processes

Tries = Annotated[tuple[str, ...], Parameter(name="--try")]


def vary(
    recipe: Recipe,
    /,
    *,
    data: Data,
    out: str,
    try_: Tries = (),
    seeds: WholeNumber = 1,
    set: Settings = (),
    columns: Columns = None,
    split: Split = None,
    write: str | None = None,
    device: Device = "cpu",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Train every combination of given settings and compare them in one table.

    Run folders are kept: the same command skips finished runs and continues interrupted ones.
    Language models are compared by perplexity, others by the measure of their task.

    For example:
      elman study vary classifier --data films --out runs/poolings --try model.pooling=last,mean,max
      elman study vary tagger --data ner --out runs/outputs --try model.output=softmax,crf --seeds 3
      elman study vary ngram --data grammar --out runs/n --try model.order=2,3,4 --write table.md

    Parameters
    ----------
    out
        The folder for the runs, one subfolder each.
    try_
        A setting and its values: section.field=value,value. Can be repeated.
    seeds
        The number of trainings per combination, with the seeds 1, 2, 3 …
    write
        Write the table to this file, as Markdown.
    """
    if seeds < 1:
        raise InputError(f"--seeds {seeds}: must be at least 1")
    place = None if write is None else check_file(write, "a table", ())
    overrides = with_data_flags(recipe, set, columns)
    options: dict[str, Any] = {"data": data, "out": out, "tries": try_, "overrides": overrides}
    options |= {"split": split, "seeds": range(1, seeds + 1)}
    settings = {"device": device, "threads": threads, "processes": Processes()}
    with watched(settings) as (machine, progress):
        variants = vary_recipe(recipe, **options, machine=machine, progress=progress)
    header, rows = _table(variants)
    if place is not None:
        _write(place, header, rows)
    if json:
        print_json([variant.to_data() for variant in variants])
        return
    print_table(header, rows)
    _note(variants)


def _table(variants: list[Variant]) -> tuple[list[str], list[list[str]]]:
    """Settings, the measure over the seeds, parameters and seconds."""
    several = len(variants[0].runs) > 1
    header = [*variants[0].settings, variants[0].measure]
    header += ["lowest", "highest"] * several + ["parameters", "seconds"]
    rows = []
    for variant in variants:
        figures = [variant.mean, *([variant.lowest, variant.highest] if several else [])]
        parameters = variant.runs[0].parameters
        counted = "–" if parameters is None else f"{parameters:,}"
        shown = [*map(_shown, figures), counted, f"{variant.seconds:,.0f}"]
        rows.append([*variant.settings.values(), *shown])
    return header, rows


def _shown(figure: float) -> str:
    if math.isinf(figure):
        return "∞"
    return f"{figure:.4f}" if figure < 10 else f"{figure:,.2f}"


def _note(variants: list[Variant]) -> None:
    """Warn where the figures can mislead."""
    tokens_differ = any(name.startswith("text.") for name in variants[0].settings)
    if variants[0].measure == "perplexity" and tokens_differ:
        note("perplexities are per token: compare them only between models with the same tokens")


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    """The table as Markdown; columns of figures are aligned right."""
    marks = ["---" if "." in name else "--:" for name in header]  # settings have a dot
    lines = [f"| {' | '.join(row)} |" for row in [header, marks, *rows]]
    with writing(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
