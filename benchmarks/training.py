"""Measure training speed: elman's loop and a plain loop around nn.LSTM, and the estimates of
`elman plan` compared with the actual times (`benchmarks/plans.py` does this for other tasks).

    python benchmarks/training.py DATA [--threads 1] [--settings small words wide] [--no-plans]
    python benchmarks/training.py DATA --profile [--threads 1] [--settings …]

DATA: a folder with the folders ptb and wikitext-2. Both loops read the same batches and take the
same steps: two layers of units, full softmax, SGD with clipping, no dropout. Each is a process of
its own, because elman also changes how the process keeps memory, and the other is what a tutorial
runs. They take turns, so that the load and the clock of the machine are the same for both.

    small   zaremba-small: 2 × 200 units, 10,000 words (Penn Treebank)
    words   the same with the 33,278 words of WikiText-2
    wide    2 × 650 units, 10,000 words

`--profile` shows where the time of a step of elman goes instead: the share of each kind of kernel,
and the share that a large matrix product of as many operations would take.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from elman.matrix_products import multiply
from elman.recipes import load_recipe
from elman.tasks.gradient_task import build_trainer
from elman.tasks.task import plan, read_lesson, train
from elman.training.machine import Machine

TURNS = 6
SETTINGS = {  # data, units, steps per turn
    "small": ("ptb", 200, 30),
    "words": ("wikitext-2", 200, 10),
    "wide": ("ptb", 650, 10),
}


KERNELS = {  # kinds of kernels, by parts of their names
    "products of the output layer": ("aten::mm", "aten::addmm", "mkldnn::_linear_pointwise"),
    "LSTM layers": ("aten::mkldnn_rnn_layer",),
    "softmax": ("aten::exp", "aten::sum", "aten::amax", "aten::sub", "aten::div"),
    "clipping and update": (
        "aten::linalg_vector_norm",
        "aten::_foreach",
        "aten::add_",
        "aten::mul",
    ),
    "copies and zeros": ("aten::copy_", "aten::fill_", "aten::zero_"),
}


class PlainModel(nn.Module):
    """The model of a typical tutorial."""

    def __init__(self, vocabulary_size: int, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.lstm = nn.LSTM(size, size, num_layers=2, batch_first=True)
        self.output = nn.Linear(size, vocabulary_size)

    def forward(self, ids, state):
        outputs, state = self.lstm(self.embedding(ids), state)
        return self.output(outputs), state


def plain_loop(lesson, config, size):
    """A function that trains some steps as in a tutorial, and returns their tokens."""
    model = PlainModel(len(lesson.task.tokenizer), size)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batches = lesson.task.batches(lesson.train, config.training.batch_size, config.seed)
    state = None

    def go(steps):
        nonlocal state
        tokens = 0
        for _ in range(steps):
            batch = batches.next() or batches.next()
            logits, state = model(batch.inputs, state)
            state = tuple(tensor.detach() for tensor in state)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
            optimizer.zero_grad()
            (loss * batch.inputs.shape[1]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            tokens += batch.tokens
        return tokens

    return go


def our_loop(lesson):
    """The same for elman."""
    trainer = build_trainer(lesson, Machine().prepare())
    return lambda steps: sum(trainer.step().tokens for _ in range(steps))


def work(data, loop, setting, threads):
    """A process with one loop: a turn for each line of input, its tokens per second as output."""
    torch.set_num_threads(threads)
    folder, size, steps = SETTINGS[setting]
    sizes = [f"model.hidden_size={size}", f"model.embedding_size={size}"]
    config = load_recipe("zaremba-small", sizes)
    lesson = read_lesson(config, str(data / folder))
    go = our_loop(lesson) if loop == "elman" else plain_loop(lesson, config, size)
    go(3)
    model = lesson.task.fresh_model(lesson.train)
    print(6e-9 * model.multiplications(config.training.batch_size * config.training.window))
    sys.stdout.flush()
    for _ in sys.stdin:
        started = time.perf_counter()
        tokens = go(steps)
        print(tokens / (time.perf_counter() - started), flush=True)


def compare_loops(data, setting, threads):
    loops = {
        loop: subprocess.Popen(
            [sys.executable, __file__, data, "--threads", str(threads), "--work", loop, setting],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for loop in ("plain", "elman")
    }
    per_token = {loop: float(process.stdout.readline()) for loop, process in loops.items()}
    rates = {loop: [] for loop in loops}
    limits = []
    for _ in range(TURNS):
        limits.append(matrix_limit())
        for loop, process in loops.items():
            process.stdin.write("\n")
            process.stdin.flush()
            rates[loop].append(float(process.stdout.readline()))
    for process in loops.values():
        process.stdin.close()
        process.wait()
    limit = np.median(limits)
    for loop, found in rates.items():
        middle = np.median(found)
        share = middle * per_token[loop] / limit
        print(
            f"  {setting:6} {loop:6} {middle:8,.0f} tokens/s ({min(found):,.0f} – "
            f"{max(found):,.0f}), {middle * per_token[loop]:4.0f} GFLOP/s, {share:.2f} of the limit"
        )
    ratios = np.array(rates["elman"]) / np.array(rates["plain"])
    print(
        f"  {setting:6} elman / plain: {np.median(ratios):.2f} "
        f"({ratios.min():.2f} – {ratios.max():.2f} over {TURNS} turns)"
    )


def show_profile(data, setting):
    """Print the share of each kind of kernel in a step."""
    folder, size, steps = SETTINGS[setting]
    sizes = [f"model.hidden_size={size}", f"model.embedding_size={size}"]
    config = load_recipe("zaremba-small", sizes)
    lesson = read_lesson(config, str(data / folder))
    go = our_loop(lesson)
    go(3)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        tokens = go(steps)
    taken = dict.fromkeys((*KERNELS, "the rest"), 0.0)
    for each in profiled.key_averages():
        kinds = [kind for kind, names in KERNELS.items() if each.key.startswith(names)]
        taken[kinds[0] if kinds else "the rest"] += each.self_cpu_time_total / 1e6
    total = sum(taken.values())
    model = lesson.task.fresh_model(lesson.train)
    per_token = 6 * model.multiplications(config.training.batch_size * config.training.window)
    limit = tokens * per_token / matrix_limit() / 1e9
    print(f"  {setting:6} {1000 * total / steps:.0f} ms per step; at the limit {limit / total:.0%}")
    for kind, seconds in taken.items():
        print(f"  {setting:6} {seconds / total:4.0%}  {kind}")


def matrix_limit():
    """GFLOP/s of a large matrix product, in the library that is fastest here."""
    a = torch.randn(2000, 2000)
    best = min(_seconds(lambda: multiply(a, a)) for _ in range(3))
    return 2 * 2000**3 / best / 1e9


def _seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare_plans(data, recipes=("zaremba-small", "quick", "bengio")):
    print("\nplanned and actual time, for a tenth of an epoch and one validation:")
    for recipe in recipes:
        overrides = ["training.epochs=0.1", "training.validate_every=0.1"]
        planned = plan(recipe, data=data, overrides=overrides)
        took = train(recipe, data=data, overrides=overrides).facts["seconds"]
        print(f"  {recipe:14} planned {planned.seconds:6.1f} s, actual {took:6.1f} s, ", end="")
        print(f"difference {100 * (planned.seconds / took - 1):+.0f} %")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, default=[*SETTINGS])
    parser.add_argument("--no-plans", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.data, *given.work, given.threads)
        return
    torch.set_num_threads(given.threads)
    print(f"torch {torch.__version__}, {given.threads} threads")
    if given.profile:
        for setting in given.settings:
            show_profile(given.data, setting)
        return
    for setting in given.settings:
        compare_loops(str(given.data), setting, given.threads)
    if not given.no_plans:
        compare_plans(str(given.data / "ptb"))


if __name__ == "__main__":
    main()
