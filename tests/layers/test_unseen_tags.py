"""A tag that training never saw has a number of its own: no loss, and no index out of bounds."""

import pytest
import torch

from elman.layers.tag_outputs import ConditionalField, TagOutput, TagSoftmax

UNSEEN = 3  # tags are 0, 1 and 2


@pytest.mark.parametrize("kind", [ConditionalField, TagSoftmax])
def test_unseen_tags_have_no_loss(kind: type[TagOutput]) -> None:
    torch.manual_seed(0)
    output, scores = kind(3), torch.randn(2, 4, 3)
    lengths = torch.tensor([4, 2])
    tags = torch.tensor([[0, 1, 2, 0], [UNSEEN, UNSEEN, 0, 0]])
    alone = output.loss(scores[:1], tags[:1], lengths[:1])
    torch.testing.assert_close(output.loss(scores, tags, lengths), alone)
