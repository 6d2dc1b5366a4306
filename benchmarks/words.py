"""Words per CPU second of a trained model: evaluation, surprisal, and minimal pairs.

    python benchmarks/words.py RUN TEXT BLIMP_FOLDER [--lines N] [--pairs N]

One thread. Every row reads the first N lines of the text, or the first N pairs of every paradigm.
Minimal pairs share prefixes, so the row `minimal pairs, tokens scored` counts those that the model
really scores: the distinct prefixes. `--save FILE` keeps all scores, and `--against FILE` prints
the largest difference from kept ones, in nats.
"""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from elman.evaluation.measures import Reading
from elman.evaluation.pairs import PairTokens
from elman.evaluation.prefix_tree import score_lines
from elman.evaluation.scoring import score_ids
from elman.tasks.language_modelling.minimal_pairs import read_materials
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load
from elman.text.minimal_pairs import prepare_pair


def timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """The result, and CPU seconds."""
    before = time.process_time()
    found = work()
    return found, time.process_time() - before


def pair_tokens(model: TrainedModel, folder: str, number: int) -> np.ndarray:
    """The ids of the first pairs of every paradigm, each sentence with its line end."""
    pairs = [
        prepare_pair(pair, model.tokenizer.prepare, critical=False)
        for one in read_materials(folder).contents
        for pair in one[:number]
    ]
    return PairTokens(model.tokenizer, pairs).ids


def distinct_prefixes(ids: np.ndarray, eos_id: int) -> int:
    """How many prefixes the lines have together."""
    found, prefix = set(), ()
    for token in ids.tolist():
        prefix = hash((prefix, token))
        found.add(prefix)
        prefix = () if token == eos_id else prefix
    return len(found)


def measure(model: TrainedModel, text: str, ids: np.ndarray) -> dict[str, np.ndarray]:
    """Print a row per task, and return the scores."""
    tokenizer, network = model.tokenizer, model.model
    words = len(text.split())
    text_ids = tokenizer.spans(text).ids
    kept = {}

    def row(name: str, count: int, work: Callable[[], np.ndarray]) -> None:
        kept[name], seconds = timed(work)
        print(f"{name:32} {count:9,} {seconds:8.1f} s {count / seconds:10,.0f} per CPU second")

    def surprisal() -> np.ndarray:
        table = model.surprisal(text, base=math.e, entropy=False)
        return np.array([word.surprisal for word in table])

    def score(reset: str) -> np.ndarray:
        return score_ids(network, text_ids, eos_id=tokenizer.eos_id, reading=Reading(reset))

    def pairs() -> np.ndarray:
        return score_lines(network, ids, eos_id=tokenizer.eos_id)

    row("evaluate", words, lambda: score("stream"))
    row("evaluate --reset line", words, lambda: score("line"))
    row("surprisal --no-entropy", words, surprisal)
    row("minimal pairs, tokens", len(ids), pairs)
    scored = distinct_prefixes(ids, tokenizer.eos_id)
    print(f"{'minimal pairs, tokens scored':32} {scored:9,}")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("text", type=Path)
    parser.add_argument("pairs_folder")
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = load(given.run)
    lines = [line for line in given.text.read_text().splitlines() if line.strip()]
    text = "".join(f"{line}\n" for line in lines[: given.lines])
    found = measure(model, text, pair_tokens(model, given.pairs_folder, given.pairs))
    if given.save:
        np.savez(given.save, **found)
    if given.against:
        kept = np.load(given.against)
        for name, values in found.items():
            print(f"{name:32} largest difference {np.abs(values - kept[name]).max():.1e} nats")


if __name__ == "__main__":
    main()
