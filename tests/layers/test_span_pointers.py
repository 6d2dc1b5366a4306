"""Pointers to start and end: the formula, and the best span against all spans written out."""

import pytest
import torch

from elman.layers.span_pointers import SpanPointers, best_spans


def test_bilinear_attention_by_hand() -> None:
    torch.manual_seed(2)
    pointers = SpanPointers(4, 3)
    passage, question, lengths = torch.randn(2, 5, 4), torch.randn(2, 3), torch.tensor([5, 3])
    starts, ends = pointers(passage, question, lengths)
    for found, weights in ((starts, pointers.start.weight), (ends, pointers.end.weight)):
        for row, length in enumerate(lengths.tolist()):
            scores = torch.stack([p @ weights @ question[row] for p in passage[row, :length]])
            torch.testing.assert_close(found[row, :length], scores.log_softmax(0))
            assert (found[row, length:] == -torch.inf).all()
    torch.testing.assert_close(starts.exp().sum(1), torch.ones(2))


@pytest.mark.parametrize("longest", [1, 2, 3, 7, 20])
def test_the_best_of_all_spans(longest: int) -> None:
    generator = torch.Generator().manual_seed(longest)
    lengths = [7, 1, 4, 7, 2]
    starts, ends = (torch.randn(5, 7, generator=generator) for _ in range(2))
    for row, length in enumerate(lengths):
        starts[row, length:] = ends[row, length:] = -torch.inf
    found = best_spans(starts, ends, longest)
    for row, length in enumerate(lengths):
        spans = [
            (float(starts[row, first] + ends[row, last]), first, last)
            for first in range(length)
            for last in range(first, min(length, first + longest))
        ]
        best = max(spans)
        assert (found.log_probs[row], found.firsts[row], found.lasts[row]) == best


def test_of_equal_spans_the_first_and_shortest() -> None:
    found = best_spans(torch.zeros(1, 4), torch.zeros(1, 4), 3)
    assert (found.firsts.tolist(), found.lasts.tolist()) == ([0], [0])
