import torch

from elman.layers.penalties import activation_penalty, temporal_penalty

# Two rows, three steps, two units.
OUTPUTS = torch.tensor([[[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]], [[2.0, 2.0], [1.0, 1.0], [9.0, 9.0]]])
MASK = torch.tensor([[True, True, True], [True, True, False]])


def test_activation_penalty() -> None:
    # (1 + 4 + 9 + 0 + 0 + 1) + (4 + 4 + 1 + 1 + 81 + 81) = 15 + 172 = 187, over 12
    assert activation_penalty(OUTPUTS).item() == torch.tensor(187 / 12).item()


def test_activation_penalty_of_real_tokens() -> None:
    # 15 + (4 + 4 + 1 + 1) = 25, over 5 tokens of 2 units
    assert activation_penalty(OUTPUTS, MASK).item() == 2.5


def test_temporal_penalty() -> None:
    # differences (2, -2), (-3, 1); (-1, -1), (8, 8): 4 + 4 + 9 + 1 + 1 + 1 + 64 + 64 = 148, over 8
    assert temporal_penalty(OUTPUTS).item() == 18.5


def test_temporal_penalty_of_real_tokens() -> None:
    # without the last: 4 + 4 + 9 + 1 + 1 + 1 = 20, over 3 pairs of 2 units
    assert temporal_penalty(OUTPUTS, MASK).item() == torch.tensor(20 / 6).item()


def test_no_neighbours_no_penalty() -> None:
    assert temporal_penalty(OUTPUTS[:, :1]).item() == 0
    assert temporal_penalty(OUTPUTS, torch.tensor([[True, False, True]] * 2)).item() == 0
    assert activation_penalty(OUTPUTS, torch.zeros(2, 3, dtype=torch.bool)).item() == 0


def test_gradients_stop_at_the_mask() -> None:
    outputs = OUTPUTS.clone().requires_grad_()
    (activation_penalty(outputs, MASK) + temporal_penalty(outputs, MASK)).backward()
    assert outputs.grad[1, 2].eq(0).all()
    assert outputs.grad[0].ne(0).all()
