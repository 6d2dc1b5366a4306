"""Small labelled texts, and a classifier that trains in a second."""

from pathlib import Path
from typing import Any

import numpy as np

import elman
from elman.tasks.classification.trained import TrainedClassifier

SMALL = (
    "model.hidden_size=6",
    "model.embedding_size=8",
    "model.dropout_features=0",
    "model.dropout_pooled=0",
    "model.ngrams=0",
    "training.epochs=6",
    "training.batch_size=8",
    "training.learning_rate=0.02",
)
FILMS = ("film", "story", "cast")
WORDS = {"good": ("fine", "warm", "funny"), "bad": ("dull", "cold", "weak")}


def draw_texts(count: int, seed: int) -> list[tuple[str, str]]:
    """A label, and a text of three to seven words that one of them decides."""
    drawn = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        label = str(drawn.choice([*WORDS]))
        words = [str(word) for word in drawn.choice(FILMS, drawn.integers(1, 5))]
        words.insert(int(drawn.integers(0, len(words) + 1)), str(drawn.choice(WORDS[label])))
        found.append((label, f"a {' '.join(words)} ."))
    return found


def write_texts(folder: Path, **splits: list[tuple[str, str]]) -> str:
    """A folder with a file for every split."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, examples in splits.items():
        lines = [f"{text}\t{label}\n" for label, text in examples]
        (folder / f"{split}.tsv").write_text("".join(lines))
    return str(folder)


def write_label_folders(folder: Path, **splits: list[tuple[str, str]]) -> str:
    """A folder with a folder for every split, in it one for every label, in it a file per text."""
    for split, examples in splits.items():
        for number, (label, text) in enumerate(examples):
            path = folder / split / label / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
    return str(folder)


def train_classifier(data: str, *overrides: str, **options: Any) -> TrainedClassifier:
    """A few epochs of a small classifier."""
    trained = elman.train("classifier", data=data, overrides=[*SMALL, *overrides], **options)
    assert isinstance(trained, TrainedClassifier)
    return trained


def log_probabilities(trained: TrainedClassifier, given: Any) -> np.ndarray:
    """Of every label, in the order of the task."""
    (found,) = trained.classify([given])
    return np.log([found.probabilities[label] for label in trained.task.labels])
