"""How much two word sequences have in common, as a number from 0 to 1 for each row.

    GLEU = clipped matches of all 1- to 4-grams / those of the longer of the two sequences

the smaller of n-gram precision and recall, in no need of smoothing for a short text. Wu et al.
(2016): Google's neural machine translation system, section 5.

    BLEU = min(1, exp(1 - T / S)) · (m_1 / n_1 · Π_{k=2..4} (m_k + 1) / (n_k + 1))^(1/4)

of one sentence, where m_k of its n_k k-grams stand in the true one; a one is added to those that
are rare in a short text. Lin and Och (2004): ORANGE. Called by `minimum_risk.py`.
"""

from __future__ import annotations

import torch

_ORDERS = 4


def gleu(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """The GLEU of each row, (B,): ids (B, S) against (B, T), of the lengths (B,)."""
    matches = _all_matches(own, own_lengths, true, true_lengths).sum(0)
    return matches / _ngrams(torch.maximum(own_lengths, true_lengths)).sum(0).clamp(min=1)


def bleu(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """The BLEU of each row as one sentence, (B,): ids (B, S) against (B, T)."""
    matches = _all_matches(own, own_lengths, true, true_lengths).double()
    ngrams = _ngrams(own_lengths).double()
    matches[1:] += 1
    ngrams[1:] += 1
    precisions = matches / ngrams.clamp(min=1)
    brevity = (1 - true_lengths / own_lengths.clamp(min=1)).clamp(max=0).exp()
    return (brevity * precisions.prod(0) ** (1 / _ORDERS)).float()


REWARDS = {"gleu": gleu, "bleu": bleu}


def _all_matches(
    own: torch.Tensor, own_lengths: torch.Tensor, true: torch.Tensor, true_lengths: torch.Tensor
) -> torch.Tensor:
    """Clipped matches of each order, (orders, B)."""
    own = _blank(own, own_lengths, -1)
    true = _blank(true, true_lengths, -2)  # blanks of the two sides are never the same
    return torch.stack([_matches(own, true, order) for order in range(1, _ORDERS + 1)])


def _ngrams(lengths: torch.Tensor) -> torch.Tensor:
    """How many n-grams of each order a sequence has, (orders, B)."""
    return torch.stack([(lengths - order + 1).clamp(min=0) for order in range(1, _ORDERS + 1)])


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
