"""`elman train`: train a model and save it as a run folder, or resume a run."""

import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import (
    BudgetText,
    Columns,
    Counts,
    Data,
    Device,
    EngineName,
    Json,
    Master,
    Memory,
    Overwrite,
    Recipe,
    RunToWrite,
    Seed,
    Settings,
    SplitBy,
    Strict,
    Threads,
    resources,
    with_data_flags,
)
from elman.cli.output import print_json, print_table, watched
from elman.errors import InputError
from elman.tasks.recipe_choice import choose_recipe
from elman.tasks.task import resume
from elman.tasks.task import train as train_model
from elman.tasks.trained import Trained
from elman.tasks.trivial import useless_line
from elman.text.tables import parse_columns
from elman.training.budget import Budget
from elman.training.processes import joined

_FEW_STEPS = 20  # that teach a model next to nothing
_TOO_LONG = 1.5  # times its budget: a training that reads and measures longer than it may train
_PLAIN_OUTPUTS = ("full", "sampled")  # that a budget chooses for running text
_NGRAM = Parameter(show_default=lambda _: "ngram, or with --budget chosen from the data")


def train(
    recipe: Annotated[Recipe | None, _NGRAM] = None,
    /,
    *,
    data: Data | None = None,
    out: RunToWrite | None = None,
    set: Settings = (),
    columns: Columns = None,
    split_by: SplitBy = None,
    strict: Strict = False,
    seed: Seed = None,
    budget: BudgetText = None,
    counts: Counts = (),
    engine: EngineName = None,
    memory: Memory = None,
    master: Master = None,
    resume: str | None = None,
    start_from: Annotated[str | None, Parameter(name="--from")] = None,
    device: Device = "cpu",
    threads: Threads = None,
    tensorboard: bool = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Train a model on a text or a dataset and save it as a run folder.

    Neural training writes checkpoints: stop it with Ctrl-C, continue with --resume.

    For example:
      elman train ngram --data grammar --out runs/grammar
      elman train quick --data my-text.txt --out runs/mine --set model.hidden_size=300
      elman train tagger --data conll2000 --out runs/chunks
      elman train classifier --data bank.csv --columns text=utterance,label=intent --out runs/bank
      elman train --data my-text.txt --out runs/mine --budget 10m
      elman train --resume runs/mine
      elman train ngram --data texts/ --out runs/large --engine duckdb --memory 2G
      elman train ngram --counts counts/2024 --counts counts/2025 --out runs/both
      torchrun --nproc-per-node 2 -m elman train quick --data my-text.txt --out runs/mine

    Parameters
    ----------
    resume
        Continue this run where it stopped; bit-identical if --threads is the same. A run with a
        budget of time continues with the rest of it. To train a run for longer, add
        --set training.epochs=N or a new --budget.
    start_from
        Fine-tune this run: start from its vocabulary and weights. A tagger or classifier can also
        start from a language model; it then takes the vocabulary, word vectors and layers.
    tensorboard
        Also write TensorBoard logs to a folder `tensorboard` in the run folder.
    """
    with joined(device) as processes:
        machine: dict[str, Any] = {"device": processes.device(device), "threads": threads}
        machine |= {"tensorboard": tensorboard, "processes": processes}
        machine["counting"] = resources(engine, memory, master)
        options: dict[str, Any] = {"data": data, "out": out, "seed": seed, "start_from": start_from}
        options |= {"budget": budget, "counts": counts}
        if resume is None:
            if recipe is None and budget is not None and data is not None and columns is not None:
                recipe = choose_recipe(data, Budget.parse(budget), parse_columns(columns))
            overrides = with_data_flags(recipe or "ngram", set, columns, split_by, strict)
            options |= {"overrides": overrides, "overwrite": overwrite}
            trained = _train(recipe, options, machine)
        else:
            options |= {"recipe": recipe, "overrides": set, "columns": columns}
            options |= {"split-by": split_by, "strict": strict or None}
            options |= {"engine": engine, "memory": memory, "master": master}
            trained = _resume(resume, options, machine)
    if not processes.rank:  # only the first process prints
        run = str(resume or out)
        _print(run, trained, json, processes.resume_command(Path(run)))


def _train(recipe: str | None, options: dict[str, Any], machine: dict[str, Any]) -> Trained:
    for name in ("data", "out"):
        if options[name] is None and not (name == "data" and options["counts"]):
            raise InputError(f"--{name} is missing (elman train --help shows how to call it)")
    with watched(machine) as (watched_machine, progress):
        return train_model(recipe, **options, machine=watched_machine, progress=progress)


def _resume(run: str, options: dict[str, Any], machine: dict[str, Any]) -> Trained:
    data, budget = options.pop("data"), options.pop("budget")
    overrides = options.pop("overrides")
    for name, value in options.items():
        if value not in (None, ()):
            flag = {"recipe": "the recipe", "start_from": "--from"}.get(name, f"--{name}")
            raise InputError(f"--resume continues the run with its own settings; leave out {flag}")
    with watched(machine) as (watched_machine, progress):
        return resume(
            Path(run),
            data=data,
            overrides=overrides,
            budget=budget,
            machine=watched_machine,
            progress=progress,
        )


def _print(run: str, trained: Trained, json: bool, resume_command: str) -> None:
    facts = trained.facts
    if json:
        print_json({"run": run, "config": trained.config.to_data(), **facts})
        return
    for part in trained.summary():
        if isinstance(part, str):
            print(part)
        else:
            print_table(part.header, part.rows)
    if "budget" in facts:
        for line in _budget_lines(trained):
            print(line)
    if facts.get("training", {}).get("improving"):
        longer = f"--set training.epochs={2 * facts['training']['of_epochs']:g}"
        if "budget" in facts:
            longer = f"--budget {_twice(facts['budget'])}"
        print(f"validation was still improving; to train for longer: {resume_command} {longer}")
    if warning := useless_line(facts):
        print(f"warning: {warning}")
    print(f"trained in {facts['seconds']:.1f} s, saved in {run}")
    print(f"next: {trained.next_command(shlex.quote(run))}")


def _twice(budget: dict[str, Any]) -> str:
    """Twice a budget, as it is written on the command line."""
    if budget["seconds"] is None:
        return f"{2 * budget['teraflop']:g}teraflop"
    return f"{2 * budget['seconds']:g}s"


def _budget_lines(trained: Trained) -> list[str]:
    """How much of the budget was used, and how an n-gram model compares."""
    facts = trained.facts
    budget, training = facts["budget"], facts["training"]
    if budget["seconds"] is None:
        before = budget.get("teraflop_before", 0.0)
        lines = [
            f"budget {budget['teraflop']:g} teraflop: used {training['teraflop'] - before:.3g}"
        ]
        if before:
            lines[0] += f", {training['teraflop']:.3g} in all"
    else:
        lines = [f"budget {budget['seconds']:g} s: used {budget['used']:.0f} s"]
    too_long = budget["seconds"] is not None and budget["used"] > _TOO_LONG * budget["seconds"]
    if too_long or (training["steps"] < _FEW_STEPS and training["epochs"] < 1):
        steps = f"{training['steps']:,} step{'s' * (training['steps'] != 1)}"
        lines[0] += f"; too short for this data: it was enough for {steps}"
        before_training = budget.get("used", 0.0) - facts["seconds"]
        if budget["seconds"] is not None and before_training >= 1:
            lines[0] += f" after {before_training:.0f} s of reading and measuring"
        lines[0] += "; give a larger --budget"
    elif budget.get("ended_early"):
        lines[0] += "; ended early: validation stopped improving"
    elif training["epochs"] >= budget["most_epochs"]:
        lines[0] += "; more epochs would only overfit this much data"
    lines += _beside_ngrams(trained, budget.get("ngram_perplexity"))
    return lines


def _beside_ngrams(trained: Trained, counted: float | None) -> list[str]:
    """How an n-gram model compares, and how to combine it with the network."""
    if counted is None:
        return []
    found = (trained.facts["validation"] or {}).get("perplexity", 0.0)
    better = ", which is better" if counted < found else ""
    lines = [f"for comparison: an n-gram model has validation perplexity {counted:.2f}{better}"]
    if getattr(trained.config.model, "output", "") in _PLAIN_OUTPUTS:
        lines.append(
            "a network on top of an n-gram model usually predicts better, but cannot be exported; "
            "to train one, add --set model.output=ngram-residual"
        )
    return lines
