"""Trainings with a budget: the time that they take, and how good they are.

    python benchmarks/budgets.py DATA [--budgets 1m 5m] [--only NAME …] [--seeds 0 1 2]
        [--out rows.json]
    python benchmarks/budgets.py DATA --table
    python benchmarks/budgets.py DATA --choices 12 [--budgets 1m 5m 20m 60m] [--only NAME …]

DATA: a folder with the folders sst, ud-english-ewt and ptb. Each training is a command of its own,
with one thread and no recipe named: `elman train --data … --budget …`. Its wall-clock time and the
processor time that it got are measured from outside; where they differ, other programs ran too.
Rows are kept in a file as soon as they are measured, and those that are there are not run again.
`--table` writes the tables of docs/results.md from `benchmarks/budgets.json`.

With `--choices N`, nothing is trained: the table shows what elman chooses on a machine with N
billion operations per second (and ten microseconds per token), whatever the load of this one.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from baseline.rows import keep, load_rows, write_table

from elman.recipes import load_recipe
from elman.tasks import sizing
from elman.tasks.recipe_choice import choose_recipe
from elman.tasks.saved_runs import task_of
from elman.training.budget import Allowance, Budget
from elman.training.probe import Speed

DATA = {
    "SST-2": ("sst/stsa.binary", "accuracy"),
    "UD English EWT": ("ud-english-ewt", "accuracy"),
    "Penn Treebank": ("ptb", "perplexity"),
}
ROWS = Path(__file__).with_suffix(".json")
_THREADS = {"OMP_NUM_THREADS": "1"}


def elman(*arguments):
    """Run a command; its output as data, its seconds and its seconds of processor time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "elman", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | _THREADS,
    )
    seconds = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), seconds, processor, done.stderr


def measure(name, path, measure_name, budget, seed, folder):
    run = str(folder / f"{name}-{budget}-{seed}".replace(" ", "-"))
    trained, seconds, processor, said = elman(
        *("train", "--data", path, "--out", run, "--budget", budget),
        *("--seed", str(seed), "--threads", "1"),
    )
    tested, *_ = elman("evaluate", run, "--data", path, "--split", "test")
    validation = trained["validation"]
    return {
        "data": name,
        "budget": budget,
        "seed": seed,
        "seconds": round(seconds, 1),
        "processor": round(processor, 1),
        "used": trained["budget"]["used"],
        "ended_early": trained["budget"]["ended_early"],
        "recipe": trained["config"]["recipe"],
        "settings": trained["budget"]["settings"],
        "epochs": trained["training"]["epochs"],
        "most_epochs": trained["budget"]["most_epochs"],
        "teraflop": trained["training"]["teraflop"],
        "measure": measure_name,
        "validation": validation.get("perplexity", 1 - validation.get("error", 0)),
        "test": tested[measure_name],
        "ngram": trained["budget"]["ngram_perplexity"],
        "busy": "the machine is busy" in said,
    }


def shown(row, name):
    if row["measure"] == "perplexity":
        return f"{row[name]:.1f}"
    return f"{100 * row[name]:.2f} %"


def table(rows):
    yield (
        "| data | budget | seed | seconds | of the budget | processor seconds | recipe, width "
        "| epochs | teraflop | validation | test |"
    )
    yield "|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|"
    for row in rows:
        share = row["seconds"] / Budget.parse(row["budget"]).seconds
        chosen = dict(setting.split("=", 1) for setting in row["settings"])
        width = chosen.get("model.hidden_size", "as in the recipe")
        early = " (ended early)" if row["ended_early"] else ""
        yield (
            f"| {row['data']} | {row['budget']} | {row.get('seed', 0)} "
            f"| {row['seconds']:.0f} | {share:.0%}{early} | {row['processor']:.0f} "
            f"| `{row['recipe']}`, {width} | {row['epochs']:.2f} "
            f"| {row['teraflop']:.2f} | {shown(row, 'validation')} | {shown(row, 'test')} |"
        )


def order(row):
    return [*DATA].index(row["data"]), Budget.parse(row["budget"]).seconds, row["seed"]


def span(values, form):
    """Lowest and highest value, or one if they look the same."""
    return " – ".join(dict.fromkeys(format(value, form) for value in (min(values), max(values))))


def summary(rows):
    """Lines of a table: time and test result of each budget, over the seeds."""
    yield "| data | budget | seeds | seconds | of the budget | test | standard deviation |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    groups = dict.fromkeys((row["data"], row["budget"]) for row in rows)
    for data, budget in groups:
        mine = [row for row in rows if (row["data"], row["budget"]) == (data, budget)]
        seconds = [row["seconds"] for row in mine]
        allowed = Budget.parse(budget).seconds
        early = sum(row["ended_early"] for row in mine)
        note = f" ({early} of {len(mine)} ended early)" if early else ""
        mean = {**mine[0], "test": statistics.fmean(row["test"] for row in mine)}
        scale = 1 if mean["measure"] == "perplexity" else 100
        spread = scale * statistics.stdev(row["test"] for row in mine) if mine[1:] else None
        yield (
            f"| {data} | {budget} | {len(mine)} | {span(seconds, '.0f')} "
            f"| {span([each / allowed for each in seconds], '.0%')}{note} "
            f"| {shown(mean, 'test')} | {'' if spread is None else f'{spread:.2f}'} |"
        )


class Unused(Allowance):
    """An allowance of which nothing is used, however slow this machine is."""

    @property
    def left(self):
        return self.budget.seconds


def choices(data, names, budgets, gigaflops):
    """What is chosen for each budget at a constant speed: lines of a table."""

    def constant_speed(lesson, seconds):
        model = lesson.task.fresh_model(lesson.train)
        per_token = 1e-5 + 6e-9 * model.multiplications(1000) / gigaflops
        return Speed(1 / per_token, 3 / per_token, steady=True, running=1.0)

    sizing.measure_speed = constant_speed
    yield "| data | budget | recipe | width | epochs | validations | teraflop | patience |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for name in names:
        lessons = {}
        for text in budgets:
            budget, path = Budget.parse(text), str(data / DATA[name][0])
            recipe = choose_recipe(path, budget)
            if recipe not in lessons:
                config = load_recipe(recipe)
                task = task_of(config.kind)
                lessons[recipe] = task.prepare(task.open(path, config), config, lambda stage: None)
            lesson = lessons[recipe]
            chosen = sizing.choose_size(lesson, Unused(budget), lambda part: part).config
            training = chosen.training
            part = sizing.with_config(lesson, chosen)
            tokens = part.task.batches(part.train, training.batch_size, 0).tokens_per_epoch
            products = part.task.fresh_model(part.train).multiplications(1000)
            times = max(1, training.epochs / training.validate_every)
            teraflop = 6e-12 * products * tokens * training.epochs
            yield (
                f"| {name} | {text} | `{recipe}` | {chosen.model.hidden_size} "
                f"| {training.epochs:g} | {times:.0f} | {teraflop:.2f} "
                f"| {training.patience or '–'} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--budgets", nargs="+", default=["1m", "5m"])
    parser.add_argument("--only", nargs="+", default=[*DATA])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--out", type=Path, default=Path("budgets.json"))
    parser.add_argument("--choices", type=float, metavar="GIGAFLOPS")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if asked.table:
        rows = sorted(load_rows(ROWS), key=order)
        write_table("budgets", "\n".join([*summary(rows), "", "Every run:", "", *table(rows)]))
        return
    if asked.choices:
        for line in choices(asked.data, asked.only, asked.budgets, asked.choices):
            print(line, flush=True)
        return
    done = {(row["data"], row["budget"], row.get("seed", 0)) for row in load_rows(asked.out)}
    with tempfile.TemporaryDirectory() as folder:
        for name, budget, seed in product(asked.only, asked.budgets, asked.seeds):
            if (name, budget, seed) in done:
                continue
            path, measured = DATA[name]
            found = measure(name, str(asked.data / path), measured, budget, seed, Path(folder))
            keep(asked.out, found)
            print(json.dumps(found), file=sys.stderr, flush=True)
    print("\n".join(table(load_rows(asked.out))))


if __name__ == "__main__":
    main()
