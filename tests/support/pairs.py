"""Small parallel texts, and a translator that trains in seconds."""

from pathlib import Path
from typing import Any

import numpy as np

from elman.tasks.task import train

_WORDS = {"the": "der", "dog": "Hund", "cat": "Kater", "sees": "sieht", "man": "Mann", "a": "ein"}
_LINES = {"train": 120, "val": 20, "test": 20}
RECIPE = """
[text]
source = "en"
target = "de"
tokenizer = "words"

[model]
kind = "encoder-decoder"
cell = "gru"
hidden_size = 8
embedding_size = 6
dropout_input = 0.1
dropout_output = 0.1

[training]
epochs = 2
batch_size = 16
optimizer = "adam"
learning_rate = 0.01
clip = 1.0
validate_every = 0.5
"""


def draw_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of two to eight words, translated word by word."""
    drawn = np.random.default_rng(seed)
    sources = [drawn.choice([*_WORDS], size=drawn.integers(2, 9)) for _ in range(count)]
    return [(" ".join(words), " ".join(_WORDS[word] for word in words)) for words in sources]


def write_parallel(folder: Path) -> Path:
    """A folder with those for training, validation and test."""
    folder.mkdir(parents=True)
    for seed, (split, count) in enumerate(_LINES.items()):
        pairs = draw_pairs(count, seed)
        for side, ending in enumerate(("en", "de")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{split}.{ending}").write_text(text)
    return folder


def write_captions(folder: Path) -> Path:
    """Grids of two to four places and vectors of two numbers, and a word for each place."""
    folder.mkdir(parents=True)
    drawn = np.random.default_rng(0)
    for split, count in _LINES.items():
        grids = [drawn.integers(0, 2, (drawn.integers(2, 5), 2)) for _ in range(count)]
        np.savez(folder / f"{split}.npz", **{f"p{n}": grid for n, grid in enumerate(grids)})
        lines = [" ".join(f"w{2 * a + b}" for a, b in grid) for grid in grids]
        (folder / f"{split}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def train_translator(data: Path | str, out: Path | None, *overrides: str, **options: Any) -> Any:
    """A few steps of a small translator."""
    place = Path(out).parent if out is not None else Path(data).parent
    recipe = place / "translator.toml"
    recipe.write_text(RECIPE)
    return train(str(recipe), data=str(data), out=out, overrides=overrides, **options)
