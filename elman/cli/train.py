"""`elman train`: train a model and save it as a run folder, or resume a run."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import (
    Columns,
    Data,
    Device,
    Json,
    Overwrite,
    Recipe,
    RunToWrite,
    Seed,
    Settings,
    Threads,
    with_columns,
)
from elman.cli.output import print_json, print_table, watched
from elman.errors import InputError
from elman.tasks.task import resume
from elman.tasks.task import train as train_model
from elman.tasks.trained import Trained
from elman.training.processes import joined

_NGRAM = Parameter(show_default=lambda _: "ngram")


def train(
    recipe: Annotated[Recipe | None, _NGRAM] = None,
    /,
    *,
    data: Data | None = None,
    out: RunToWrite | None = None,
    set: Settings = (),
    columns: Columns = None,
    seed: Seed = None,
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
      elman train --resume runs/mine
      torchrun --nproc-per-node 2 -m elman train quick --data my-text.txt --out runs/mine

    Parameters
    ----------
    resume
        Continue this run where it stopped; bit-identical if --threads is the same. Add
        --set training.epochs=N to train a finished run for longer.
    start_from
        Start from the vocabulary and weights of this run (fine-tuning). Tagging, classification and
        question answering start from the word vectors and layers of this language model.
    tensorboard
        Also write TensorBoard logs to a folder `tensorboard` in the run folder.
    """
    with joined(device) as processes:
        machine: dict[str, Any] = {"device": processes.device(device), "threads": threads}
        machine |= {"tensorboard": tensorboard, "processes": processes}
        options: dict[str, Any] = {"data": data, "out": out, "seed": seed, "start_from": start_from}
        if resume is None:
            recipe = recipe or "ngram"
            options |= {"overrides": with_columns(recipe, set, columns), "overwrite": overwrite}
            trained = _train(recipe, options, machine)
        else:
            options |= {"recipe": recipe, "overrides": set, "columns": columns}
            trained = _resume(resume, options, machine)
    if not processes.rank:  # only the first process prints
        run = str(resume or out)
        _print(run, trained, json, processes.resume_command(Path(run)))


def _train(recipe: str, options: dict[str, Any], machine: dict[str, Any]) -> Trained:
    for name in ("data", "out"):
        if options[name] is None:
            raise InputError(f"--{name} is missing (elman train --help shows how to call it)")
    with watched(machine) as (watched_machine, progress):
        return train_model(recipe, **options, machine=watched_machine, progress=progress)


def _resume(run: str, options: dict[str, Any], machine: dict[str, Any]) -> Trained:
    data, overrides = options.pop("data"), options.pop("overrides")
    for name, value in options.items():
        if value not in (None, ()):
            flag = {"recipe": "the recipe", "start_from": "--from"}.get(name, f"--{name}")
            raise InputError(f"--resume continues the run with its own settings; leave out {flag}")
    with watched(machine) as (watched_machine, progress):
        return resume(
            Path(run), data=data, overrides=overrides, machine=watched_machine, progress=progress
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
    if facts.get("training", {}).get("improving"):
        longer = f"--set training.epochs={2 * facts['training']['of_epochs']:g}"
        print(f"validation was still improving; to train for longer: {resume_command} {longer}")
    print(f"trained in {facts['seconds']:.1f} s, saved in {run}")
    print(f"next: {trained.next_command(run)}")
