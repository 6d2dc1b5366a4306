"""Measure every output layer: training speed with 10,000 and 100,000 words, and perplexity.

    python benchmarks/outputs.py                       every output, one GRU layer of 200 units
    python benchmarks/outputs.py --batch 128 nce full  only these, with another batch size
    python benchmarks/outputs.py --learn DATA          perplexity after two epochs on a corpus

The text for the speed test is random, with word frequencies that follow Zipf's law: only the
number of words and their frequencies matter. Steps are complete: forward, backward, clipping, SGD.
Outputs take turns in one process, and the median of the turns counts. Ratios are relative to the
full softmax of the same call.
"""

import argparse
import statistics
import time

import numpy as np
import torch

import elman
from elman.batches import Stream
from elman.layers.outputs import OUTPUTS
from elman.models.recurrent import RecurrentConfig, RecurrentModel
from elman.training.settings import TrainingConfig
from elman.training.trainer import Trainer

WINDOW, TURNS, SECONDS = 35, 5, 1.0
OPTIONS = {"maxent": {"features": 4_000_000}, "nce": {"samples": 100}}


def make_text(vocabulary_size: int, tokens: int) -> np.ndarray:
    """Random ids whose frequencies follow Zipf's law."""
    weights = 1 / np.arange(1, vocabulary_size + 1)
    random = np.random.default_rng(0)
    return random.choice(vocabulary_size, tokens, p=weights / weights.sum())


def make_trainer(output: str, ids: np.ndarray, vocabulary_size: int, batch: int) -> Trainer:
    torch.manual_seed(0)
    config = RecurrentConfig(
        cell="gru",
        hidden_size=200,
        embedding_size=200,
        tied=False,
        output=output,
        output_options=OPTIONS.get(output, {}),
    )
    words = [str(number) for number in range(vocabulary_size)]
    model = RecurrentModel.build(config, ids, words, 0)
    batches = Stream(ids, batch_size=batch, window=WINDOW)
    return Trainer(model, batches, TrainingConfig(batch_size=batch, learning_rate=1.0))


def turn(trainer: Trainer) -> float:
    """Tokens per second over one second, or over a single step if it takes longer."""
    started, tokens = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        tokens += trainer.step().tokens
    return tokens / (time.perf_counter() - started)


def measure(outputs: list[str], vocabulary_size: int, batch: int) -> dict[str, float]:
    ids = make_text(vocabulary_size, 400_000)
    trainers = {name: make_trainer(name, ids, vocabulary_size, batch) for name in outputs}
    for trainer in trainers.values():
        trainer.step()
    speeds = {name: [] for name in outputs}
    for _ in range(TURNS):
        for name, trainer in trainers.items():
            speeds[name].append(turn(trainer))
    return {name: statistics.median(found) for name, found in speeds.items()}


def learn(output: str, data: str) -> tuple[float, float]:
    """The validation perplexity of a small model after two epochs, and the minutes."""
    started = time.perf_counter()
    settings = {
        "model.output": output,
        "model.output_options": "{experts = 3}" if output == "mixture" else "{}",
        "model.tied": "false",
        "model.num_layers": 1,
        "model.hidden_size": 100,
        "model.embedding_size": 100,
        "training.optimizer": "adam",
        "training.learning_rate": 0.003,
        "training.hold": 0,
        "training.clip": 1.0,
        "training.epochs": 2,
    }
    overrides = [f"{name}={value}" for name, value in settings.items()]
    model = elman.train("quick", data=data, overrides=overrides)
    return model.facts["validation"]["perplexity"], (time.perf_counter() - started) / 60


def compare_learning(outputs: list[str], data: str) -> None:
    print(f"{'LSTM 100, two epochs':24}{'valid':>8}{'to full':>9}{'minutes':>9}")
    full = None
    for name in outputs:
        perplexity, minutes = learn(name, data)
        full = full or perplexity
        change = perplexity / full - 1
        print(f"{name:24}{perplexity:8.2f}{change:+9.1%}{minutes:9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("outputs", nargs="*", default=[*OUTPUTS])
    parser.add_argument("--learn", metavar="DATA")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.learn:
        compare_learning(given.outputs, given.learn)
        return
    # A mixture of 15 softmaxes over 100,000 words is left out: it takes minutes per step.
    print(f"GRU 200, batch {given.batch}, windows of {WINDOW}, {given.threads} threads")
    for size in given.sizes:
        chosen = [name for name in given.outputs if name != "mixture" or size <= 10_000]
        speeds = measure(chosen, size, given.batch)
        print(f"\n{'vocabulary of ' + format(size, ','):24}{'tokens/s':>10}{'× full':>8}")
        for name, speed in speeds.items():
            print(f"{name:24}{speed:10,.0f}{speed / speeds.get('full', speed):8.1f}")


if __name__ == "__main__":
    main()
