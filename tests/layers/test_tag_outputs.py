"""Outputs of a tagger: against enumeration of all taggings; rows are independent."""

import itertools
import math

import pytest
import torch

from elman.layers.tag_outputs import TAG_OUTPUTS, ConditionalField, TagOutput, TagSoftmax

K, T = 3, 4


def taggings(length: int) -> list[tuple[int, ...]]:
    return [*itertools.product(range(K), repeat=length)]


@pytest.fixture
def field() -> ConditionalField:
    torch.manual_seed(0)
    made = ConditionalField(K).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_()
    return made.requires_grad_(False)


def by_hand(field: ConditionalField, scores: torch.Tensor, tags: tuple[int, ...]) -> float:
    total = float(field.first[tags[0]] + field.last[tags[-1]])
    total += sum(float(scores[t, tag]) for t, tag in enumerate(tags))
    return total + sum(float(field.between[a, b]) for a, b in itertools.pairwise(tags))


@pytest.mark.parametrize("length", [1, 2, T])
def test_the_field_is_the_sum_over_all_taggings(field: ConditionalField, length: int) -> None:
    scores = torch.randn(1, T, K, dtype=torch.float64)
    lengths = torch.tensor([length])
    every = {tags: by_hand(field, scores[0], tags) for tags in taggings(length)}
    total = torch.tensor([*every.values()], dtype=torch.float64).logsumexp(0)
    torch.testing.assert_close(field.total(scores, lengths)[0], total)
    best = max(every, key=lambda tags: every[tags])
    assert tuple(field.best(scores, lengths)[0, :length].tolist()) == best
    probabilities = []
    for tags in taggings(length):
        padded = torch.tensor([[*tags, *[0] * (T - length)]])
        probabilities.append(float((-field.loss(scores, padded, lengths)).exp()))
    assert sum(probabilities) == pytest.approx(1)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("length", [1, 2, T])
def test_marginals_of_the_field_are_sums_over_taggings(
    field: ConditionalField, length: int, temperature: float
) -> None:
    scores = torch.randn(1, T, K, dtype=torch.float64)
    weights = {t: math.exp(by_hand(field, scores[0], t) / temperature) for t in taggings(length)}
    total = sum(weights.values())
    found = field.log_marginals(scores, torch.tensor([length]), temperature)[0, :length].exp()
    for place, tag in itertools.product(range(length), range(K)):
        with_tag = sum(weight for tags, weight in weights.items() if tags[place] == tag)
        assert float(found[place, tag]) == pytest.approx(with_tag / total, rel=1e-9)


@pytest.mark.parametrize("name", TAG_OUTPUTS)
def test_marginals_sum_to_one_and_rows_are_independent(name: str) -> None:
    output = TAG_OUTPUTS[name](K).double()
    lengths = torch.tensor([3, 1, 5, 2])
    scores = torch.randn(4, 5, K, dtype=torch.float64)
    together = output.log_marginals(scores, lengths)
    torch.testing.assert_close(together.exp().sum(2), torch.ones(4, 5, dtype=torch.float64))
    for row, length in enumerate(lengths.tolist()):
        alone = output.log_marginals(scores[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(alone[0], together[row, :length])


@pytest.mark.parametrize("name", TAG_OUTPUTS)
def test_a_row_does_not_depend_on_its_batch(name: str) -> None:
    torch.manual_seed(1)
    output = TAG_OUTPUTS[name](K).double()
    lengths = torch.tensor([3, 1, 5, 2])
    scores = torch.randn(4, 5, K, dtype=torch.float64)
    tags = torch.randint(K, (4, 5))
    together = output.loss(scores, tags, lengths)
    best = output.best(scores, lengths)
    alone = torch.zeros(())
    for row, length in enumerate(lengths.tolist()):
        own = scores[row : row + 1, :length], tags[row : row + 1, :length], lengths[row : row + 1]
        alone = alone + output.loss(*own)
        assert output.best(own[0], own[2])[0].tolist() == best[row, :length].tolist()
    torch.testing.assert_close(together, alone.double())


@pytest.mark.parametrize("name", TAG_OUTPUTS)
def test_what_is_beyond_a_row_has_no_gradient(name: str) -> None:
    output = TAG_OUTPUTS[name](K).double()
    scores = torch.randn(2, 4, K, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([4, 2])
    output.loss(scores, torch.zeros(2, 4, dtype=torch.long), lengths).backward()
    assert scores.grad is not None
    assert (scores.grad[1, 2:] == 0).all()
    assert (scores.grad[1, :2] != 0).any()


def test_gradients_of_the_field_by_finite_differences(field: ConditionalField) -> None:
    field.requires_grad_()
    scores = torch.randn(2, 3, K, dtype=torch.float64, requires_grad=True)
    tags, lengths = torch.randint(K, (2, 3)), torch.tensor([3, 2])
    assert torch.autograd.gradcheck(lambda s: field.loss(s, tags, lengths), [scores])


UNSEEN = 3  # tags are 0, 1 and 2


@pytest.mark.parametrize("kind", [ConditionalField, TagSoftmax])
def test_unseen_tags_have_no_loss(kind: type[TagOutput]) -> None:
    torch.manual_seed(0)
    output, scores = kind(3), torch.randn(2, 4, 3)
    lengths = torch.tensor([4, 2])
    tags = torch.tensor([[0, 1, 2, 0], [UNSEEN, UNSEEN, 0, 0]])
    alone = output.loss(scores[:1], tags[:1], lengths[:1])
    torch.testing.assert_close(output.loss(scores, tags, lengths), alone)
