"""The seconds that `elman plan` promises against those of the training.

    python benchmarks/plans.py DATA [--only quick tagger …] [--seconds 75] [--out rows.json]
        [--processor]

DATA: a folder with `ptb`, `sst`, `ud-english-ewt` and `multi30k`. For each recipe, a first plan of
one epoch gives the number of epochs that takes about `--seconds`; then `elman plan` and `elman
train` run with these settings, as commands of their own, with one thread and without early
stopping. `planned` is what the plan says, `training` the seconds that the run folder reports,
`command` the wall-clock time of the whole command, with start, reading and saving; the processor
time beside it shows how busy the machine was. Prints the table of docs/results.md.

On a busy machine, `--processor` plans and trains in this process, and all times are seconds of
processor time. This shows whether the plan counts everything, not whether the clock agrees.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from baseline.data import chosen, multi30k, sst2, write
from budgets import elman

from elman.tasks import training_run
from elman.tasks.task import plan, train
from elman.training import probe
from elman.training.machine import Machine

RECIPES = {
    "quick": lambda data, folder: str(data / "ptb"),
    "tagger": lambda data, folder: str(data / "ud-english-ewt"),
    "classifier": lambda data, folder: written(folder, sst2(data), "tsv", 0),
    "translator": lambda data, folder: written(folder, multi30k(data), "pairs", 5000),
}


def written(folder, splits, ending, size):
    """A folder with the splits, as elman reads them, with so many training examples (0: all)."""
    folder.mkdir()
    write(folder, splits | {"train": chosen(splits["train"], size)}, ending)
    return str(folder)


FIXED = ("training.min_steps=0", "training.patience=0")


def lengths(epochs):
    """The settings of a training of so many epochs."""
    return (f"training.epochs={epochs}", f"training.validate_every={min(1.0, epochs / 2):g}")


def as_options(settings):
    return [word for setting in settings for word in ("--set", setting)]


def measure(recipe, data, folder, seconds):
    """Plan and train for about so many seconds."""
    path = RECIPES[recipe](data, folder / recipe)
    fixed = ["--threads", "1", *as_options(FIXED)]
    first, *_ = elman("plan", recipe, "--data", path, *fixed, *as_options(lengths(1)))
    epochs = max(round(seconds / first["seconds"], 2), 0.02)
    length = as_options(lengths(epochs))
    planned, planning, *_ = elman("plan", recipe, "--data", path, *fixed, *length)
    run = str(folder / f"run-{recipe}")
    trained, command, processor, _ = elman(
        "train", recipe, "--data", path, "--out", run, *fixed, *length
    )
    return {
        "recipe": recipe,
        "epochs": epochs,
        "planned": round(planned["seconds"], 1),
        "training": round(trained["seconds"], 1),
        "command": round(command, 1),
        "processor": round(processor, 1),
        "planning": round(planning, 1),
        "steps": [planned["steps"], trained["training"]["steps"]],
        "notes": [note for note in planned["notes"] if "time" in note],
    }


def measure_processor(recipe, data, folder, seconds):
    """Plan and train in this process; all times are processor time."""
    clock = SimpleNamespace(
        **{**vars(time), "perf_counter": time.process_time, "thread_time": time.process_time}
    )
    probe.time = training_run.time = clock
    path, machine = RECIPES[recipe](data, folder / recipe), Machine(threads=1)
    first = plan(recipe, data=path, overrides=[*FIXED, *lengths(1)], machine=machine)
    epochs = max(round(seconds / first.seconds, 2), 0.02)
    used = [*FIXED, *lengths(epochs)]
    begun = time.process_time()
    planned = plan(recipe, data=path, overrides=used, machine=machine)
    done = time.process_time()
    run = folder / f"run-{recipe}"
    trained = train(recipe, data=path, out=run, overrides=used, machine=machine)
    command = time.process_time() - done
    return {
        "recipe": recipe,
        "epochs": epochs,
        "planned": round(planned.seconds, 1),
        "training": round(trained.facts["seconds"], 1),
        "command": round(command, 1),
        "processor": round(command, 1),
        "planning": round(done - begun, 1),
        "steps": [planned.steps, trained.facts["training"]["steps"]],
        "notes": [],
    }


def table(rows):
    yield (
        "| recipe | epochs | planned | training | difference | whole command | difference "
        "| processor | seconds of planning |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        differences = [row[name] / row["planned"] - 1 for name in ("training", "command")]
        yield (
            f"| `{row['recipe']}` | {row['epochs']:g} | {row['planned']:.0f} s "
            f"| {row['training']:.0f} s | {differences[0]:+.0%} | {row['command']:.0f} s "
            f"| {differences[1]:+.0%} | {row['processor']:.0f} s | {row['planning']:.0f} s |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", default=[*RECIPES], choices=[*RECIPES])
    parser.add_argument("--seconds", type=float, default=75.0)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("plans.json"))
    asked = parser.parse_args()
    rows = []
    for recipe in asked.only:
        with tempfile.TemporaryDirectory() as folder:
            how = measure_processor if asked.processor else measure
            rows.append(how(recipe, asked.data, Path(folder), asked.seconds))
        asked.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
