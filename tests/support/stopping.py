"""Trainings of forty steps that are stopped by signals, or diverge, in given steps.

The text has lines of many lengths; the recipe has everything that can be forgotten by a checkpoint.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elman.tasks.task import resume
from elman.training.divergence import Diverged
from elman.training.loop import Stopped
from elman.training.trainer import Trainer

OPTIMIZERS = {
    "sgd": [
        "training.momentum=0.5",
        "training.learning_rate=2",
        "training.average=nt-asgd",
        "training.trigger=1",
    ],
    "adam": ["training.learning_rate=0.02", "training.average=ema", "training.average_decay=0.9"],
    "rmsprop": ["training.learning_rate=0.01", "training.momentum=0.3", "training.beta2=0.9"],
}
STREAM = ["training.window=7", "training.window_jitter=2"]
LINES = ["model.context=line"]
_REGIME = "training.regime_options."
REGIMES = {
    "free-running": [],
    "scheduled-sampling": [f"{_REGIME}final=0.2"],
    # It learns and is fooled in every step, so that there is something to lose.
    "professor-forcing": [
        f"{_REGIME}hidden_size=5",
        f"{_REGIME}learning_rate=0.01",
        f"{_REGIME}learn_below=1",
        f"{_REGIME}fool_above=0",
    ],
    "minimum-risk": [f"{_REGIME}samples=2"],
}
NETWORK = """
[text]
tokenizer = "words"

[model]
kind = "recurrent"
num_layers = 2
hidden_size = 7
embedding_size = 5
"""
_RECIPE = f"""{NETWORK}
dropout_words = 0.1
dropout_input = 0.2
dropout_hidden = 0.2
dropout_output = 0.2
weight_drop = 0.2

[training]
batch_size = 4
clip = 0.5
schedule = "plateau"
epochs = 2.2
validate_every = 0.25
"""


def write_lines(
    folder: Path,
    lines: dict[str, int],
    recipe_text: str,
    likely: dict[str, np.ndarray] | None = None,
) -> Path:
    """Lines of one to ten of twelve words, which may have probabilities, and a recipe beside."""
    drawn = np.random.default_rng(5)
    words = [f"w{number}" for number in range(12)]
    for split, count in lines.items():
        odds = None if likely is None else likely[split] / likely[split].sum()
        rows = [drawn.choice(words, drawn.integers(1, 11), p=odds) for _ in range(count)]
        (folder / f"{split}.txt").write_text("".join(" ".join(row) + "\n" for row in rows))
    Path(recipe(folder)).write_text(recipe_text)
    return folder


def write_text(folder: Path, likely: dict[str, np.ndarray]) -> Path:
    """Some 510 tokens to train on; words by their probabilities."""
    return write_lines(folder, {"train": 78, "valid": 30}, _RECIPE, likely)


def recipe(data: Path) -> str:
    """The recipe beside a text."""
    return str(data / ".recipe.toml")


@contextmanager
def after_steps(act: Callable[[Trainer], None]) -> Iterator[None]:
    """Do something at the end of every step."""
    step = Trainer.step

    def acting(self: Trainer) -> Any:
        shown = step(self)
        act(self)
        return shown

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "step", acting)
        yield


def stop_at(steps: Any, number: int = signal.SIGTERM) -> Any:
    """A signal in each of these steps."""

    def act(trainer: Trainer) -> None:
        if trainer.counters.step in steps:
            signal.raise_signal(number)

    return after_steps(act)


@contextmanager
def diverging_at(step: int) -> Iterator[None]:
    """A step that goes wrong once, so that the rate is lowered."""
    original = Trainer.step
    gone_wrong = False

    def diverge(self: Trainer) -> Any:
        nonlocal gone_wrong
        if self.counters.step + 1 == step and not gone_wrong:
            gone_wrong = True
            raise Diverged("on purpose")
        return original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "step", diverge)
        yield


def finish(out: Path) -> None:
    """Resume a run, to its end."""
    try:
        resume(out)
    except Stopped:
        pytest.fail("nothing asked to stop")
