"""Measure training speed: `zaremba-small` in elman's loop and in a plain loop around nn.LSTM, and
the estimates of `elman plan` compared with the actual times.

    python benchmarks/training.py DATA        a folder with train/valid/test files

Both loops read the same batches and take the same steps (two layers of 200 units, full softmax, SGD
with clipping). They take turns in one process; the best of several turns counts.
"""

import sys
import time

import numpy as np
import torch
from torch import nn

from elman.recipes import load_recipe
from elman.tasks.gradient_task import build_trainer
from elman.tasks.task import plan, read_lesson, train

STEPS, TURNS = 30, 6


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


def plain_loop(batches, model, optimizer):
    """Train STEPS steps as in a tutorial; returns tokens per second."""
    state, tokens = None, 0
    started = time.perf_counter()
    for _ in range(STEPS):
        batch = batches.next() or batches.next()
        logits, state = model(batch.inputs, state)
        state = tuple(tensor.detach() for tensor in state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())
        optimizer.zero_grad()
        (loss * batch.inputs.shape[1]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        tokens += batch.tokens
    return tokens / (time.perf_counter() - started)


def our_loop(trainer):
    started, tokens = time.perf_counter(), 0
    for _ in range(STEPS):
        tokens += trainer.step().tokens
    return tokens / (time.perf_counter() - started)


def matrix_limit():
    """GFLOP/s of a large matrix product: the limit of this machine."""
    a = torch.randn(2000, 2000)
    best = min(_seconds(lambda: a @ a) for _ in range(5))
    return 2 * 2000**3 / best / 1e9


def _seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare_loops(data):
    config = load_recipe("zaremba-small")
    lesson = read_lesson(config, data)
    trainer = build_trainer(lesson, torch.device("cpu"))
    plain = PlainModel(len(lesson.task.tokenizer), 200)
    optimizer = torch.optim.SGD(plain.parameters(), lr=1.0)
    batches = lesson.task.batches(lesson.train, config.training.batch_size, config.seed)
    ours, theirs = [], []
    for _ in range(TURNS):
        theirs.append(plain_loop(batches, plain, optimizer))
        ours.append(our_loop(trainer))
    per_token = 6e-9 * trainer.model.multiplications(400)
    print(f"zaremba-small, tokens/s, best of {TURNS} turns of {STEPS} steps:")
    print(f"  plain nn.LSTM loop  {max(theirs):8,.0f}  ({max(theirs) * per_token:.0f} GFLOP/s)")
    print(f"  elman               {max(ours):8,.0f}  ({max(ours) * per_token:.0f} GFLOP/s)")
    print(f"  ratio of the best {max(ours) / max(theirs):.2f}, ", end="")
    print(f"of the medians {np.median(ours) / np.median(theirs):.2f}")


def compare_plans(data, recipes=("zaremba-small", "quick", "bengio")):
    print("\nplanned and actual time, for a tenth of an epoch and one validation:")
    for recipe in recipes:
        overrides = ["training.epochs=0.1", "training.validate_every=0.1"]
        planned = plan(recipe, data=data, overrides=overrides)
        took = train(recipe, data=data, overrides=overrides).facts["seconds"]
        print(f"  {recipe:14} planned {planned.seconds:6.1f} s, actual {took:6.1f} s, ", end="")
        print(f"difference {100 * (planned.seconds / took - 1):+.0f} %")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, ", end="")
    print(f"limit (large product) {matrix_limit():.0f} GFLOP/s\n")
    compare_loops(sys.argv[1])
    compare_plans(sys.argv[1])
