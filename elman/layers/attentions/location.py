"""Location: e_ij = (W q_i + b)_j, from the state of the decoder alone (Luong et al. 2015).

It learns where to look, whatever stands there; what is further on than it has rows is never seen.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import pad

from elman.errors import InputError
from elman.layers.attentions.attention import Attention


class LocationAttention(Attention):
    """A score for each place, whatever stands there."""

    about = "places of the source, whatever stands there (Luong et al. 2015)"

    def __init__(
        self, query_size: int, key_size: int, *, coverage: bool, longest: int = 100
    ) -> None:
        """`longest`: so many places of a source can be looked at."""
        super().__init__(query_size, key_size, coverage=coverage)
        if longest < 1:
            raise InputError(f"longest={longest}: must be at least 1")
        self.places = nn.Linear(query_size, longest)

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        scores: torch.Tensor = self.places(queries)[:, :, : keys.shape[1]]
        return pad(scores, (0, keys.shape[1] - scores.shape[2]), value=-torch.inf)
