"""No attention: the decoder knows of the source what its summary says (Sutskever et al. 2014)."""

from __future__ import annotations

import torch

from elman.layers.attentions.attention import Attention


class NoAttention(Attention):
    """Nothing is looked at."""

    about = "none: one vector for the whole source, the bottleneck"
    looks = False

    def scores(
        self, queries: torch.Tensor, keys: torch.Tensor, covered: torch.Tensor | None = None
    ) -> torch.Tensor:
        raise NotImplementedError("without attention there are no scores")
