"""The n-gram model: everything besides the contract."""

import numpy as np
import pytest
import torch

from elman.counts.estimate import NgramConfig
from elman.models.ngram import NGram

TEXT = np.array([1, 2, 0] * 3 + [3, 1, 0, 3, 2, 0, 1])


def fit(context: str, **settings: object) -> NGram:
    config = NgramConfig(order=3, context=context, **settings)
    return NGram.fit(TEXT, config, vocabulary_size=4, eos_id=0)


@pytest.mark.parametrize("context", ["line", "stream"])
def test_a_text_begins_at_the_start_of_a_line(context: str) -> None:
    assert fit(context).start(2).tolist() == [[-1, 0], [-1, 0]]


def test_a_stream_begins_with_what_commonly_begins_a_line() -> None:
    # Lines begin with 1 three times and with 3 twice (then 1 once more). Kneser-Ney alone would ask
    # what is new after <eos>, and find that both came after one word only.
    model = fit("stream", smoothing="kneser-ney")
    first = model.predict(model.start(1))[0].exp()
    assert first[1] > first[3] > first[2]


@pytest.mark.parametrize("context", ["line", "stream"])
def test_log_probs_is_the_score_from_the_start(context: str) -> None:
    model = fit(context)
    scored, _ = model.score(torch.from_numpy(TEXT)[None], model.start(1))
    assert np.array_equal(model.log_probs(TEXT), scored[0].numpy())
