"""Each word's tag by itself: P(y_t = k) = softmax(scores)_k."""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy

from elman.layers.padding import real_tokens
from elman.layers.tag_outputs.output import TagOutput


class TagSoftmax(TagOutput):
    """A softmax over the tags of each word."""

    about = "each word's tag by itself"

    def loss(self, scores: torch.Tensor, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        real = real_tokens(scores, lengths)
        unseen = scores.shape[2]  # number of a tag that training never saw: no loss
        return cross_entropy(scores[real], tags[real], reduction="sum", ignore_index=unseen)

    def best(self, scores: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return scores.argmax(2)
