"""Aligned vectors: by hand, and whatever stands in the padding."""

import torch

from elman.layers.alignment import Alignment


@torch.no_grad()
def test_the_formula_word_by_word() -> None:
    torch.manual_seed(1)
    alignment = Alignment(4)
    passage, question = torch.randn(2, 5, 4), torch.randn(2, 3, 4)
    lengths = torch.tensor([3, 2])
    found = alignment(passage, question, lengths)
    for row, length in enumerate(lengths.tolist()):
        for place in range(5):
            key = torch.relu(alignment.key(passage[row, place]))
            scores = [
                float((key @ torch.relu(alignment.key(question[row, j]))).exp())
                for j in range(length)
            ]
            expected = sum(s * question[row, j] for j, s in enumerate(scores)) / sum(scores)
            torch.testing.assert_close(found[row, place], expected)


def test_padding_does_not_count() -> None:
    torch.manual_seed(1)
    alignment = Alignment(4)
    passage, question = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    spoilt = question.clone()
    spoilt[0, 2] = torch.nan
    lengths = torch.tensor([2])
    assert torch.equal(
        alignment(passage, question, lengths), alignment(passage, spoilt.nan_to_num(99), lengths)
    )
    assert not alignment(passage, spoilt, lengths).isnan().any()
