"""Shared by tests of count models: a small model, and scores of sentences."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from elman.counts.estimate import NgramConfig, estimate
from elman.counts.tables import Tables
from elman.text.grammar import grammar_text
from elman.text.tokenizer import TextConfig
from elman.text.words import Words


@pytest.fixture
def fit() -> Callable[..., tuple[Tables, Words]]:
    """The model of a text, by default of order 4 of some sentences of the grammar."""
    return _fit


@pytest.fixture
def score_words() -> Callable[[Tables, Words, str], np.ndarray]:
    """Log10 probabilities of the words of a sentence and of its end."""
    return _score_words


@pytest.fixture
def kenlm_scores() -> Callable[[Path, list[str]], list[list[float]]]:
    """The same by KenLM, of an ARPA file."""
    return _kenlm_scores


def _fit(text: str | None = None, **settings: object) -> tuple[Tables, Words]:
    text = grammar_text("train", 150) if text is None else text
    words = Words.train(text, TextConfig())
    config = NgramConfig(**{"order": 4, **settings})  # type: ignore[arg-type]
    ids = words.encode(text)
    return estimate(ids, config, vocabulary_size=len(words), eos_id=0), words


def _score_words(tables: Tables, words: Words, sentence: str) -> np.ndarray:
    row = np.concatenate([[0], words.encode(sentence + "\n")])
    return tables.score(row[None])[0] / np.log(10)


def _kenlm_scores(path: Path, sentences: list[str]) -> list[list[float]]:
    kenlm = pytest.importorskip("kenlm", reason="KenLM is not installed")
    model = kenlm.Model(str(path))
    return [[score for score, _, _ in model.full_scores(sentence)] for sentence in sentences]
