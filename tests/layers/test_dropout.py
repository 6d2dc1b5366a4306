import pytest
import torch

from elman.errors import InputError
from elman.layers.dropout import dropout, embedding_dropout, locked_dropout, weight_drop

ALL = [dropout, locked_dropout, embedding_dropout, weight_drop]


def ones(drop, rows: int, size: int) -> torch.Tensor:
    """Ones in the shape that a function takes: matrices, or (B, T, size)."""
    is_matrix = drop in (embedding_dropout, weight_drop)
    return torch.ones((rows, size) if is_matrix else (rows, 1, size))


@pytest.mark.parametrize("drop", ALL)
def test_nothing_is_dropped_in_evaluation_or_at_rate_0(drop) -> None:
    values = ones(drop, 3, 4)
    assert torch.equal(drop(values, 0.5, False), values)
    assert torch.equal(drop(values, 0.0, True), values)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2.0, float("nan")])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("drop", ALL)
def test_what_is_no_rate_is_refused(drop, rate, training) -> None:
    with pytest.raises(InputError, match="must be from 0 to below 1"):
        drop(ones(drop, 2, 3), rate, training)


@pytest.mark.parametrize("drop", ALL)
def test_rate_and_scale(drop) -> None:
    """Of 100,000 masks a quarter is 0, the rest 1 / 0.75; so the mean stays 1."""
    dropped = drop(ones(drop, 100_000, 1), 0.25, True)
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    # standard deviation of the share: √(0.25 · 0.75 / 100,000) = 0.0014
    assert dropped.eq(0).float().mean().item() == pytest.approx(0.25, abs=0.007)


@pytest.mark.parametrize("drop", ALL)
def test_drawn_anew_at_every_call(drop) -> None:
    values = ones(drop, 20, 20)
    assert not torch.equal(drop(values, 0.5, True), drop(values, 0.5, True))


@pytest.mark.parametrize("drop", ALL)
def test_the_seed_decides(drop) -> None:
    values = ones(drop, 20, 20)
    first = drop(values, 0.5, True)
    torch.manual_seed(0)
    assert torch.equal(drop(values, 0.5, True), first)


def test_a_locked_mask_is_constant_over_time_and_differs_between_rows() -> None:
    dropped = locked_dropout(torch.ones(4, 7, 50), 0.5, True)
    assert torch.equal(dropped, dropped[:, :1].expand(4, 7, 50))
    rows = dropped[:, 0]
    assert all(not torch.equal(rows[i], rows[j]) for i in range(4) for j in range(i))


def test_a_plain_mask_changes_over_time() -> None:
    dropped = dropout(torch.ones(4, 7, 50), 0.5, True)
    assert not torch.equal(dropped, dropped[:, :1].expand(4, 7, 50))


def test_embedding_dropout_drops_whole_words() -> None:
    weight = torch.randn(200, 10)
    dropped = embedding_dropout(weight, 0.5, True)
    gone = dropped.eq(0).all(dim=1)
    assert 50 < gone.sum() < 150
    torch.testing.assert_close(dropped[~gone], 2 * weight[~gone])


def test_gradients_of_dropped_weights_are_zero_and_others_scaled() -> None:
    weight = torch.randn(30, 30, requires_grad=True)
    dropped = weight_drop(weight, 0.5, True)
    dropped.sum().backward()
    gone = dropped.eq(0)
    assert 0 < gone.sum() < 900
    assert weight.grad[gone].eq(0).all()
    assert weight.grad[~gone].eq(2).all()
