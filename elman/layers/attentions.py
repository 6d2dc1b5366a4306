"""Attention: scores between the states of a decoder and the positions of a source.

    e_ij = score(q_i, k_j),   α_ij = softmax_j(e_ij),   c_i = Σ_j α_ij v_j

`prepare` computes the keys k of the encoded source v once; `scores` compares them with the queries
q, the states of the decoder. Padding gets a weight of exactly zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import nn
from torch.nn.functional import pad

from elman.config import at_least
from elman.errors import InputError
from elman.matrix_products import LinearLayer
from elman.registry import Registry


class Attention(nn.Module, ABC):
    """Scores of all positions of a source."""

    about: ClassVar[str]
    looks: ClassVar[bool] = True  # False for "none"
    can_cover: ClassVar[bool] = False  # whether it supports coverage

    def __init__(self, query_size: int, key_size: int, *, coverage: bool) -> None:
        """Sizes of decoder states and encoded sources; `coverage`: use the previous attention."""
        super().__init__()

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        """Keys (B, S, …) of an encoded source (B, S, key_size), made once."""
        return values

    @abstractmethod
    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(B, T, S) from queries (B, T, query_size) and keys; `covered` (B, S): summed weights."""

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        real: torch.Tensor,
        covered: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Weights (B, T, S) that sum to one over the `real` positions, (B, S)."""
        scores = self.scores(queries, keys, covered)
        return scores.masked_fill(~real.unsqueeze(1), -torch.inf).softmax(2)


class NoAttention(Attention):
    """None: the decoder knows only the summary of the source (Sutskever et al. 2014)."""

    about = "no attention: one vector for the whole source"
    looks = False

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        raise NotImplementedError("without attention there are no scores")


class DotAttention(Attention):
    """Dot product: e_ij = q_i · v_j, of vectors of the same size (Luong et al. 2015)."""

    about = "dot product of decoder state and source vector, of equal size (Luong et al. 2015)"

    def __init__(self, query_size: int, key_size: int, *, coverage: bool) -> None:
        super().__init__(query_size, key_size, coverage=coverage)
        if query_size != key_size:
            raise InputError(
                "model.attention: a dot product compares vectors of the same size, but the encoder "
                f"gives {key_size} numbers per word and the decoder has {query_size}; set "
                "model.bidirectional=false with one hidden_size for all layers, or choose "
                "model.attention=bilinear, which learns a matrix between the two"
            )

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        return torch.bmm(queries, keys.transpose(1, 2))


class ScaledDotAttention(DotAttention):
    """Scaled dot product: e_ij = q_i · k_j / √size (Vaswani et al. 2017).

    Sums of many products are large, and a softmax of large numbers has tiny gradients.
    """

    about = "dot product divided by the square root of the size (Vaswani et al. 2017)"

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        return super().scores(queries, keys, covered) / queries.shape[2] ** 0.5


class BilinearAttention(Attention):
    """Bilinear: e_ij = q_iᵀ W v_j (Luong et al. 2015, "general"); W v_j is computed once.

    With `scaled`, e_ij is divided by √size, as in the scaled dot product. With coverage,
    e_ij = q_iᵀ (W v_j + w g_j), where g_j is the previous attention to v_j.
    """

    about = "learned matrix between the two vectors (Luong et al. 2015)"
    can_cover = True

    def __init__(
        self, query_size: int, key_size: int, *, coverage: bool, scaled: bool = False
    ) -> None:
        """`scaled`: divide the scores by the square root of the size of the decoder."""
        super().__init__(query_size, key_size, coverage=coverage)
        self.scale = query_size**0.5 if scaled else 1.0
        self.key = LinearLayer(key_size, query_size, bias=False)
        self.cover = LinearLayer(1, query_size, bias=False) if coverage else None

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        return self.key(values)

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        scores = torch.bmm(queries, keys.transpose(1, 2))
        if self.cover is not None and covered is not None:
            scores = scores + (queries @ self.cover.weight) * covered.unsqueeze(1)
        return scores / self.scale if self.scale != 1.0 else scores


class AdditiveAttention(Attention):
    """Additive: e_ij = v · tanh(Q q_i + K v_j + b) (Bahdanau et al. 2015).

    K v_j + b is computed once. With coverage, e_ij = v · tanh(Q q_i + K v_j + b + w g_j), where
    g_j is the previous attention to position j (See et al. 2017).
    """

    about = "network with one hidden layer over the two vectors (Bahdanau et al. 2015)"
    can_cover = True

    def __init__(
        self, query_size: int, key_size: int, *, coverage: bool, attention_size: int = 0
    ) -> None:
        """`attention_size`: units of the hidden layer; 0: as many as the decoder."""
        super().__init__(query_size, key_size, coverage=coverage)
        size = attention_size or query_size
        self.query = LinearLayer(query_size, size, bias=False)
        self.key = LinearLayer(key_size, size)
        self.score = LinearLayer(size, 1, bias=False)
        self.cover = LinearLayer(1, size, bias=False) if coverage else None

    def prepare(self, values: torch.Tensor) -> torch.Tensor:
        return self.key(values)

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        sums = self.query(queries).unsqueeze(2) + keys.unsqueeze(1)  # (B, T, S, size)
        if self.cover is not None and covered is not None:
            sums = sums + self.cover(covered.unsqueeze(2)).unsqueeze(1)
        scores: torch.Tensor = self.score(sums.tanh_() if not sums.requires_grad else sums.tanh())
        return scores.squeeze(3)


class LocationAttention(Attention):
    """Location: e_ij = (W q_i + b)_j, from the state of the decoder alone (Luong et al. 2015).

    It learns positions, independent of the words there. Positions after the last row of W get no
    attention.
    """

    about = "positions of the source, independent of its words (Luong et al. 2015)"

    def __init__(
        self, query_size: int, key_size: int, *, coverage: bool, longest: int = 100
    ) -> None:
        """`longest`: the number of source positions that can get attention."""
        super().__init__(query_size, key_size, coverage=coverage)
        at_least(longest, 1, "longest")
        self.places = LinearLayer(query_size, longest)

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        scores: torch.Tensor = self.places(queries)[:, :, : keys.shape[1]]
        return pad(scores, (0, keys.shape[1] - scores.shape[2]), value=-torch.inf)


ATTENTIONS = Registry(
    "attention",
    {
        "none": NoAttention,
        "dot": DotAttention,
        "scaled-dot": ScaledDotAttention,
        "bilinear": BilinearAttention,
        "additive": AdditiveAttention,
        "location": LocationAttention,
    },
    group="attentions",
)
