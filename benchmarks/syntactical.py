"""Does a window network predict better if it sees the heads of the last words?

    python benchmarks/syntactical.py ud-english-ewt [--seeds 3] [--set SETTING]… [--json FILE]

Trains the recipe `syntactical` on the same text and window, once with heads and once without, and
prints test nats per word for the words, for the arrows (which point to the heads), and for both
together. Only the sum is a fair comparison: whoever drew the arrows had read the whole sentence, so
they reveal something about the words that follow.
"""

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

import elman
from elman.evaluation.scoring import score_ids
from elman.tasks.language_modelling.trained import TrainedModel
from elman.text.parsed_text import arrow_distance


@dataclass
class Measured:
    """Test nats per word."""

    heads: int
    seed: int
    words: float
    arrows: float

    @property
    def both(self) -> float:
        return self.words + self.arrows


def measure(data: str, heads: int, seed: int, settings: list[str]) -> Measured:
    settings = [*settings, f"model.heads={heads}"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run = elman.train(
            "syntactical", data=data, out=out, overrides=settings, seed=seed, kind=TrainedModel
        )
    ids = np.asarray(run.tokenizer.encode(run.open(data).split("test").text))
    nats = -score_ids(run.model, ids, eos_id=run.tokenizer.eos_id)
    arrows = np.array([arrow_distance(token) >= 0 for token in run.tokenizer.tokens])[ids]
    count = int(arrows.sum())  # one for each word
    return Measured(
        heads, seed, float(nats[~arrows].sum()) / count, float(nats[arrows].sum()) / count
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", help="a folder with CoNLL-U files")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = []
    for seed in range(asked.seeds):
        for heads in (0, 2):
            found.append(one := measure(asked.data, heads, seed, asked.set))
            print(f"heads {heads} seed {seed}: {_shown(one)}", flush=True)
            if asked.json is not None:
                asked.json.write_text(json.dumps([asdict(each) for each in found], indent=1))
    for part in ("words", "arrows", "both"):
        without, with_heads = (
            [getattr(one, part) for one in found if one.heads == heads] for heads in (0, 2)
        )
        gains = [before - after for before, after in zip(without, with_heads, strict=True)]
        shown = ", ".join(f"{gain:+.4f}" for gain in gains)
        print(
            f"{part}: {np.mean(without):.4f} nats per word without heads, "
            f"{np.mean(with_heads):.4f} with them; gain {np.mean(gains):+.4f} ({shown})"
        )


def _shown(one: Measured) -> str:
    return f"words {one.words:.4f} arrows {one.arrows:.4f} both {one.both:.4f}"


if __name__ == "__main__":
    main()
