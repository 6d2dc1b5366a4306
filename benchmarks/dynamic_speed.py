"""Measure the processor time of dynamic evaluation with several settings, side by side.

    python benchmarks/dynamic_speed.py                       the network of `hour`, 10,000 words
    python benchmarks/dynamic_speed.py --run RUN --data ptb  a trained run; also its perplexity

Without a run, weights and text are random: the time of an update hardly depends on them. (With
trained weights, fewer words are probable, so `sparse` saves more.) Prints processor seconds for
82,430 tokens, the test text of the Penn Treebank, extrapolated from the tokens that were scored.
"""

import argparse
import math
import time

import numpy as np
import torch

import elman
from elman.adapters.dynamic import DynamicEvaluation, Rms, Worker, root_mean_square
from elman.models import MODELS
from elman.models.neural import NeuralModel
from elman.recipes import load_recipe

SETTINGS = [  # segment, decay_every, sparse
    (5, 1, 0.0),
    (5, 10, 0.0),
    (5, 10, 1e-4),
    (10, 10, 1e-4),
    (20, 5, 1e-4),
]
WORDS, WHOLE, WARM_UP = 10_000, 82_430, 50


def random_model() -> tuple[NeuralModel, np.ndarray]:
    """A new network of the recipe `hour`, and a text whose frequencies follow a power law."""
    torch.manual_seed(1)
    ids = np.random.default_rng(0).zipf(1.2, 200_000) % WORDS
    tokens = [str(word) for word in range(WORDS)]
    return MODELS["recurrent"].build(load_recipe("hour").model, ids, tokens, 0).eval(), ids


def main() -> None:
    """Parse arguments and print a line for each setting."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--run")
    parser.add_argument("--data")
    parser.add_argument("--tokens", type=int, default=350, help="to score, per setting")
    parser.add_argument("--rate", type=float, default=7e-5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.run:
        trained = elman.load(given.run)
        corpus = trained.open(given.data)
        model, encode = trained.model, trained.tokenizer.encode
        training, text = encode(corpus.split("train").text), encode(corpus.split("valid").text)
    else:
        model, training = random_model()
        text = training
    for segment, every, sparse in SETTINGS:
        usual = root_mean_square(Worker(model), training, segment, 200 if given.run else 2)
        rule = Rms(given.rate, 0.002, 2e-5, usual, every=every)
        dynamic = DynamicEvaluation(model, segment, rule, sparse=sparse)
        ids = torch.from_numpy(text[: WARM_UP + given.tokens])[None]
        with torch.inference_mode():
            _, state = dynamic.score(ids[:, :WARM_UP], dynamic.start(1))
            begun = time.process_time()
            scores, _ = dynamic.score(ids[:, WARM_UP:], state)
            seconds = (time.process_time() - begun) * WHOLE / given.tokens
        figure = f", perplexity {math.exp(-float(scores.mean())):.2f}" if given.run else ""
        named = f"segment={segment},decay_every={every},sparse={sparse:g}"
        print(f"{named}: {seconds:.0f} s{figure}", flush=True)


if __name__ == "__main__":
    main()
