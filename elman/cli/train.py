"""`elman train`: train a model and save it as a run folder; or go on with one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import (
    Data,
    Device,
    Json,
    Overwrite,
    Recipe,
    RunToWrite,
    Seed,
    Settings,
    Threads,
)
from elman.cli.output import duration, live_line, note, print_json, print_table, stages
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.tasks.language_model import TrainedModel
    from elman.tasks.machine import Machine
    from elman.training.loop import Progress

_NGRAM = Parameter(show_default=lambda _: "ngram")
_PROGRESS_SECONDS = 10.0  # between lines where there is no terminal


def train(
    recipe: Annotated[Recipe | None, _NGRAM] = None,
    /,
    *,
    data: Data | None = None,
    out: RunToWrite | None = None,
    set: Settings = (),
    seed: Seed = None,
    resume: str | None = None,
    start_from: Annotated[str | None, Parameter(name="--from")] = None,
    device: Device = "cpu",
    threads: Threads = None,
    tensorboard: bool = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Train a model on a file, a folder or a built-in corpus, and save it as a run folder.

    A neural model is saved while it is trained: stop it with Ctrl-C, go on with --resume.

    For example:
      elman train ngram --data grammar --out runs/grammar
      elman train quick --data my-text.txt --out runs/mine --set model.hidden_size=300
      elman train --resume runs/mine
      torchrun --nproc-per-node 2 -m elman train quick --data my-text.txt --out runs/mine

    Parameters
    ----------
    resume
        Go on with this run where it stopped, bit for bit.
    start_from
        Begin with the vocabulary and the weights of this run (fine-tuning).
    tensorboard
        Also log to a folder `tensorboard` in the run folder.
    """
    from elman.training.processes import joined

    with joined(device) as processes:
        settings = {
            "device": processes.device(device),
            "threads": threads,
            "tensorboard": tensorboard,
            "processes": processes,
        }
        if resume is not None:
            given = {"recipe": recipe, "--out": out, "--set": set, "--seed": seed}
            for name, value in {**given, "--from": start_from}.items():
                if value not in (None, ()):
                    raise InputError(f"--resume goes on with the run as it is; leave out {name}")
            trained = _resume(resume, data, settings)
            out = resume
        else:
            if data is None or out is None:
                raise InputError(
                    f"{'--data' if data is None else '--out'} is missing: elman train --help"
                )
            options = {"data": data, "out": out, "overrides": set, "seed": seed}
            options |= {"overwrite": overwrite, "start_from": start_from}
            trained = _train(recipe or "ngram", options, settings)
    if processes.rank:
        return  # the first one speaks for all
    if json:
        print_json({"run": out, "config": trained.config.to_data(), **trained.facts})
        return
    _print_facts(out, trained.tokenizer.name, trained.facts)


def _train(recipe: str, options: dict[str, Any], settings: dict[str, Any]) -> "TrainedModel":
    from elman.tasks.recipes import load_recipe
    from elman.tasks.training import train as train_model

    if load_recipe(recipe, options["overrides"], options["seed"]).training is None:
        if settings["processes"].count > 1:
            raise InputError(f"{recipe}: counting takes one process; leave out torchrun")
        with stages() as progress:
            return train_model(recipe, **options, progress=progress)
    with watched(settings) as (machine, progress):
        return train_model(recipe, **options, machine=machine, progress=progress)


def _resume(run: str, data: str | None, settings: dict[str, Any]) -> "TrainedModel":
    from pathlib import Path

    from elman.tasks.neural_training import resume

    with watched(settings) as (machine, progress):
        return resume(Path(run), data=data, machine=machine, progress=progress)


@contextmanager
def watched(settings: dict[str, Any]) -> Iterator[tuple["Machine", Callable[[str], None]]]:
    """A machine made of these settings, and a line that shows what it does; of several processes,
    the first one's.
    """
    from elman.tasks.machine import Machine

    if settings["processes"].rank:
        yield Machine(**settings), lambda what: None
        return
    with live_line(_PROGRESS_SECONDS) as line:
        machine = Machine(
            **settings, watch=lambda progress: line(_progress_line(progress)), record=_warn
        )
        yield machine, lambda what: line(f"{what} …")


def _warn(record: dict[str, Any]) -> None:
    """Say what a user should know at once; the rest is in the history."""
    if "diverged_at_step" in record:
        note(
            f"step {record['diverged_at_step']} diverged ({record['problem']}); back to step "
            f"{record['step']} with {record['rate_factor']:g} times the rate"
        )


def _progress_line(progress: "Progress") -> str:
    validation = f" · validation {progress.validation:.2f}" if progress.validation else ""
    return (
        f"epoch {progress.epochs:.2f} of {progress.of_epochs:g} · "
        f"perplexity {progress.perplexity:.2f}{validation} · "
        f"{progress.tokens_per_second:,.0f} tokens/s · {duration(progress.seconds_left)} left"
    )


def _print_facts(out: str, tokenizer: str, facts: dict[str, Any]) -> None:
    data, model = facts["data"], facts["model"]
    for message in [*data["notes"], *model.get("notes", [])]:
        note(message)
    if data["empty_lines"]:
        note(f"{data['empty_lines']:,} empty lines; each counts as one line end")
    print(
        f"read {data['lines']:,} lines, {data['tokens']:,} tokens ({tokenizer}), "
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
    print(f"trained in {facts['seconds']:.1f} s, saved in {out}")
    print(f"next: elman generate {out} --max-tokens 50")


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
