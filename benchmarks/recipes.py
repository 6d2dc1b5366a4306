"""Measure the cost of every shipped recipe on this machine, and check that its loss falls.

    python benchmarks/recipes.py DATA [RECIPE …]      DATA: a folder such as the Penn Treebank

Plans each recipe, trains up to 60 steps of it (90 seconds at most), and compares the first losses
with the last ones.
"""

import sys
import time

import torch

from elman.recipes import load_recipe, recipe_names
from elman.tasks.gradient_task import build_trainer
from elman.tasks.task import plan, read_lesson

STEPS, SECONDS, COMPARED = 60, 90.0, 5


def losses(recipe, data):
    """Nats per token of each of the first steps."""
    config = load_recipe(recipe)
    trainer = build_trainer(read_lesson(config, data), torch.device("cpu"))
    found, started = [], time.perf_counter()
    while len(found) < STEPS and time.perf_counter() - started < SECONDS:
        step = trainer.step()
        found.append(step.nats / step.tokens)
    return found


def main(data, recipes):
    columns = ("parameters", "teraflop", "GFLOP/s", "hours", "GB", "first", "last")
    print(f"{'recipe':16}" + "".join(f"{name:>13}" for name in columns), flush=True)
    for recipe in recipes:
        cost = plan(recipe, data=data)
        nats = losses(recipe, data)
        first, last = (sum(part) / COMPARED for part in (nats[:COMPARED], nats[-COMPARED:]))
        print(
            f"{recipe:16}{cost.parameters:13,}{cost.teraflop:13,.0f}{cost.gigaflops:13.0f}"
            f"{cost.seconds / 3600:13.2f}{cost.memory_gigabytes:13.1f}{first:13.3f}{last:13.3f}"
            + ("" if last < first else "   the loss does not fall"),
            flush=True,
        )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    neural = [
        name
        for name in recipe_names()
        if load_recipe(name).training is not None and not load_recipe(name).text.labelled
    ]
    main(sys.argv[1], sys.argv[2:] or neural)
