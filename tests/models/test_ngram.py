"""What is the n-gram model's own, beside the contract."""

import numpy as np

from elman.counts.estimate import NgramConfig
from elman.models.ngram import NGram, commonest_line_end

# 1 2 <eos>, three times, then 3 2 <eos>: the commonest full context that ends a line is (2, <eos>)
TEXT = np.array([1, 2, 0] * 3 + [3, 1, 0, 3, 2, 0, 1])


def fit(context: str, order: int = 3) -> NGram:
    config = NgramConfig(order=order, context=context, smoothing="witten-bell")
    return NGram.fit(TEXT, config, vocabulary_size=4, eos_id=0)


def test_a_line_model_starts_after_a_line_end_with_nothing_before() -> None:
    assert fit("line").start(2).tolist() == [[-1, 0], [-1, 0]]


def test_a_stream_model_starts_after_the_commonest_line_end() -> None:
    assert fit("stream").start(1).tolist() == [[2, 0]]
    assert fit("stream", order=4).start(1).tolist() == [[1, 2, 0]]


def test_a_stream_without_line_ends_starts_plainly() -> None:
    config = NgramConfig(order=3, context="stream")
    model = NGram.fit(np.array([1, 2, 3, 1, 2]), config, vocabulary_size=4, eos_id=0)
    assert model.start(1).tolist() == [[-1, 0]]
    assert commonest_line_end(model.tables) == []


def test_log_probs_is_the_score_from_the_start() -> None:
    import torch

    for context in ("line", "stream"):
        model = fit(context)
        scored, _ = model.score(torch.from_numpy(TEXT)[None], model.start(1))
        assert np.array_equal(model.log_probs(TEXT), scored[0].numpy())
