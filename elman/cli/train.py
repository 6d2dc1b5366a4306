"""`elman train`: train a model and save it as a run folder; or go on with one."""

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
from elman.cli.output import note, print_json, print_table, stages
from elman.cli.progress import watched
from elman.errors import InputError
from elman.recipes import load_recipe
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.training import train as train_model
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

    A neural model is saved while it is trained: stop it with Ctrl-C, go on with --resume.

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
        Go on with this run where it stopped, bit for bit if --threads is the same.
    start_from
        Begin with the vocabulary and the weights of this run (fine-tuning); a task of sentences
        with the word vectors and layers of this language model.
    tensorboard
        Also log to a folder `tensorboard` in the run folder.
    """

    with joined(device) as processes:
        machine: dict[str, Any] = {"device": processes.device(device), "threads": threads}
        machine |= {"tensorboard": tensorboard, "processes": processes}
        overrides = with_columns(set, columns)
        options = {"data": data, "out": out, "overrides": overrides, "seed": seed}
        options["start_from"] = start_from
        if resume is None:
            trained = _train(recipe or "ngram", {**options, "overwrite": overwrite}, machine)
        else:
            trained = _resume(resume, {"recipe": recipe, **options}, machine)
    if not processes.rank:  # the first one speaks for all
        _print(str(resume or out), trained, json)


def _train(recipe: str, options: dict[str, Any], machine: dict[str, Any]) -> TrainedModel:

    for name in ("data", "out"):
        if options[name] is None:
            raise InputError(f"--{name} is missing (elman train --help shows how to call it)")
    if load_recipe(recipe, options["overrides"], options["seed"]).training is None:
        if machine["processes"].count > 1:
            raise InputError(f"{recipe}: counting takes one process; leave out torchrun")
        with stages() as progress:
            return train_model(recipe, **options, progress=progress)
    with watched(machine) as (watched_machine, progress):
        return train_model(recipe, **options, machine=watched_machine, progress=progress)


_WRITTEN = {
    "out": "--out",
    "overrides": "--set and --columns",
    "seed": "--seed",
    "start_from": "--from",
}


def _resume(run: str, options: dict[str, Any], machine: dict[str, Any]) -> TrainedModel:
    from elman.tasks.neural_training import resume

    data = options.pop("data")
    for name, value in options.items():
        if value not in (None, ()):
            name = _WRITTEN.get(name, name)
            raise InputError(f"--resume goes on with the run as it is; leave out {name}")
    with watched(machine) as (watched_machine, progress):
        return resume(Path(run), data=data, machine=watched_machine, progress=progress)


def _print(run: str, trained: TrainedModel, json: bool) -> None:
    facts = trained.facts
    if json:
        print_json({"run": run, "config": trained.config.to_data(), **facts})
        return
    if "task" in facts:
        _print_task(run, facts)
        return
    data, model = facts["data"], facts["model"]
    for message in [*data["notes"], *model.get("notes", [])]:
        note(message)
    if data["empty_lines"]:
        note(f"{data['empty_lines']:,} empty lines; each counts as one line end")
    print(
        f"read {data['lines']:,} lines, {data['tokens']:,} tokens ({trained.tokenizer.name}), "
        f"vocabulary {model['vocabulary_size']:,}"
    )
    if "ngrams" in model:
        _print_ngrams(model)
    else:
        training = facts["training"]
        print(
            f"{model['parameters']:,} parameters; epochs {training['epochs']:g}, "
            f"steps {training['steps']:,}, {training['teraflop']:,.3g} teraflop"
        )
    validation = facts["validation"]
    if validation:
        perplexity = validation["perplexity"]
        shown = (
            "infinite (unseen words are impossible)" if perplexity is None else f"{perplexity:.2f}"
        )
        print(f"validation perplexity {shown} on {validation['tokens']:,} tokens")
    print(f"trained in {facts['seconds']:.1f} s, saved in {run}")
    print(f"next: elman generate {run} --max-tokens 50")


def _print_task(run: str, facts: dict[str, Any]) -> None:
    data, training, validation = facts["data"], facts["training"], facts["validation"]
    known = {"words": "different words", "source_tokens": "source tokens"}
    known |= {"target_tokens": "target tokens", "features": "numbers per vector"}
    counts = [f"{data[name]:,} {what}" for name, what in known.items() if name in data]
    print(f"read {data['examples']:,} {data['unit']}, {', '.join(counts)}")
    print(
        f"{facts['model']['parameters']:,} parameters; epochs {training['epochs']:g}, "
        f"steps {training['steps']:,}, {training['teraflop']:,.3g} teraflop"
    )
    for judged_by, value in (validation or {}).items():
        if judged_by != "tokens":
            print(f"validation {judged_by} {value:.4f} of {validation['tokens']:,}")
    print(f"trained in {facts['seconds']:.1f} s, saved in {run}")
    print(f"next: elman evaluate {run} --data {data['name']}")


def _print_ngrams(model: dict[str, Any]) -> None:
    rows = [
        [order, count, *(f"{value:.3f}" for value in discounts)]
        for order, (count, discounts) in enumerate(
            zip(model["ngrams"], model["discounts"] or [[]] * len(model["ngrams"]), strict=True), 1
        )
    ]
    width = max(len(row) for row in rows)
    names = [f"D{i}" if i < width - 2 else f"D{i}+" for i in range(1, width - 1)]
    print_table(["order", "n-grams", *names], [row + [None] * (width - len(row)) for row in rows])
