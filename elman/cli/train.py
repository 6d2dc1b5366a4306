"""`elman train`: train a model and save it as a run folder; or go on with one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import WholeNumber
from elman.cli.output import duration, live_line, note, print_json, print_table, stages
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.tasks.language_model import TrainedModel
    from elman.tasks.machine import Machine
    from elman.training.loop import Progress

_PROGRESS_SECONDS = 10.0  # between lines where there is no terminal


def train(
    recipe: str | None = None,
    /,
    *,
    data: str | None = None,
    out: str | None = None,
    set: tuple[str, ...] = (),
    seed: WholeNumber | None = None,
    resume: str | None = None,
    start_from: Annotated[str | None, Parameter(name="--from")] = None,
    device: str = "cpu",
    threads: int | None = None,
    tensorboard: bool = False,
    overwrite: bool = False,
    json: bool = False,
) -> None:
    """Train a model on a file, a folder or a built-in corpus, and save it as a run folder.

    A neural model is saved while it is trained: stop it with Ctrl-C, go on with --resume.

    Examples:
      elman train ngram --data grammar --out runs/grammar
      elman train quick --data my-text.txt --out runs/mine --set model.hidden_size=300
      elman train --resume runs/mine
      torchrun --nproc-per-node 2 -m elman train quick --data my-text.txt --out runs/mine

    Parameters
    ----------
    recipe
        A shipped name (elman list recipes) or a TOML file; ngram unless one is given.
    data
        A text file, a folder with train/valid/test files, or a built-in corpus.
    out
        The run folder to write.
    set
        Change a setting of the recipe: section.field=value. May be given several times.
    seed
        Seed of everything random; 0 unless the recipe has another.
    resume
        Go on with this run where it stopped, bit for bit.
    start_from
        Begin with the vocabulary and the weights of this run (fine-tuning).
    device
        Where a neural model is trained: cpu, cuda, cuda:1 …
    threads
        Processor threads; as many as there are cores unless given.
    tensorboard
        Also log to a folder `tensorboard` in the run folder.
    overwrite
        Replace a run that is there already.
    json
        Print the result as JSON.
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
