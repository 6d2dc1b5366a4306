"""The adapter that resets the state at the end of a document."""

import numpy as np
import pytest
import torch

from elman.adapters import FitContext, adapt
from elman.counts.estimate import NgramConfig
from elman.models.contract import LanguageModel
from elman.models.ngram import NGram

SIZE, EOS = 8, 0
WORDS = ["<eos>", "a", "b", "c", "d", "e", "f", "="]
TEXT = np.random.default_rng(4).integers(0, SIZE, 300)


def ngram() -> NGram:
    config = NgramConfig(order=2, smoothing="witten-bell", context="stream")
    return NGram.fit(TEXT, config, vocabulary_size=SIZE, eos_id=EOS)


def caching() -> LanguageModel:
    return adapt(ngram(), ["cache:weight=0.5"], around())


def around() -> FitContext:
    return FitContext(
        lambda model: np.zeros(1), lambda path: ngram(), token_id=WORDS.index, eos_id=EOS
    )


def scores(model: LanguageModel, ids: list[int]) -> list[float]:
    return model.score(torch.tensor([ids]), model.start(1))[0][0].tolist()


@pytest.mark.parametrize(
    ("written", "documents"),
    [
        ("documents", [[1, 2, EOS, 3, 1, EOS, EOS], [2, 1, EOS, EOS], [1]]),
        ("documents:lines=2", [[1, 2, EOS, 3, EOS], [1, EOS, EOS], [2, 3]]),
        ("documents:lines=1", [[1, EOS], [1, 1, EOS], [EOS], [2]]),
    ],
)
def test_each_document_is_scored_as_if_it_were_alone(
    written: str, documents: list[list[int]]
) -> None:
    model = adapt(caching(), [written], around())
    text = [word for document in documents for word in document]
    together = scores(model, text)
    alone = [score for document in documents for score in scores(caching(), document)]
    assert together == pytest.approx(alone)
    assert together != pytest.approx(scores(caching(), text))


def test_a_mark_is_predicted_from_the_document_before_and_read_in_its_own() -> None:
    model = adapt(caching(), ["documents:mark=="], around())
    first, second = [1, 2, 1, EOS], [7, 3, 7, 3, EOS]  # a mark within a line is a word like others
    found = scores(model, first + second)
    assert found[:5] == pytest.approx(scores(caching(), first + second)[:5])
    assert found[5:] == pytest.approx(scores(caching(), second)[1:])
