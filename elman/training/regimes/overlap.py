"""How much two word sequences have in common: GLEU, a sequence metric that suits one sentence.

    GLEU = clipped matches of all 1- to 4-grams / those of the longer of the two sequences

the smaller of n-gram precision and recall. From 0 to 1, symmetric, and unlike BLEU in no need of
smoothing for a short text. Wu et al. (2016): Google's neural machine translation system, section 5.
"""

from __future__ import annotations

import torch

_ORDERS = 4


def gleu(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """The GLEU of each row, (B,): ids (B, S) against (B, T), of the lengths (B,)."""
    own = _blank(own, own_lengths, -1)
    true = _blank(true, true_lengths, -2)  # blanks of the two sides are never the same
    matches = sum(_matches(own, true, order) for order in range(1, _ORDERS + 1))
    longer = torch.maximum(own_lengths, true_lengths)
    ngrams = sum((longer - order + 1).clamp(min=0) for order in range(1, _ORDERS + 1))
    return torch.as_tensor(matches) / torch.as_tensor(ngrams).clamp(min=1)


def _blank(ids: torch.Tensor, lengths: torch.Tensor, blank: int) -> torch.Tensor:
    steps = torch.arange(ids.shape[1], device=ids.device)
    return torch.where(steps < lengths[:, None], ids, blank)


def _matches(own: torch.Tensor, true: torch.Tensor, order: int) -> torch.Tensor:
    """N-grams of a row that stand in the other, each counted as often as there at most, (B,)."""
    in_true = _same(own, true, order).sum(2)  # (B, n-grams) how often each stands there
    earlier = _same(own, own, order).tril(-1).sum(2)  # how often it stood before in its own row
    return (earlier < in_true).sum(1)


def _same(first: torch.Tensor, second: torch.Tensor, order: int) -> torch.Tensor:
    """Which n-grams are equal, (B, n-grams of the first, n-grams of the second)."""
    rows, columns = first.shape[1] - order + 1, second.shape[1] - order + 1
    equal = first[:, :, None] == second[:, None, :]
    same = equal[:, : max(rows, 0), : max(columns, 0)]
    for offset in range(1, order):
        same = same & equal[:, offset : offset + rows, offset : offset + columns]
    return same
