"""The NAS cell against its equations and, where they agree, torchrecurrent."""

import torch

from elman.cells.searched import NAS

INPUT, HIDDEN = 2, 3
ORDER = [1, 3, 6, 8, 5, 7, 2, 4]  # of the rows of the product


def test_equations(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(NAS(INPUT, HIDDEN))
    gates = dict(zip(ORDER, gates_of(weights, "gates", HIDDEN, 8), strict=True))

    def naive(x, state):
        h, c = state
        sigmoid, tanh, relu = torch.sigmoid, torch.tanh, torch.relu
        o = {k: x @ gates[k].W.t() + h @ gates[k].U.t() + gates[k].b for k in ORDER if k != 4}
        fourth = (x @ weights["factor_input"].t()) * (h @ gates[4].U.t() + gates[4].b)
        first = tanh(sigmoid(o[1]) * relu(o[2]))
        second = tanh(sigmoid(o[3]) + relu(fourth))
        third = tanh(tanh(o[5]) * sigmoid(o[6]))
        last = sigmoid(tanh(o[7]) + sigmoid(o[8]))
        c = tanh(first + c) * second
        return tanh(c * tanh(third + last)), c

    assert_equals_naive(cell, weights, naive)


def test_torchrecurrent(build, assert_equals_torchrecurrent) -> None:
    cell, w = build(NAS(INPUT, HIDDEN))
    # Theirs adds the input and state of the fourth block, where the authors' own code multiplies
    # them; without weights both give ReLU(0), and the other seven blocks agree.
    with torch.no_grad():
        w["factor_input"].zero_()

    def blocks(part: str) -> list[torch.Tensor]:
        """From the first to the eighth; the fourth has no weights."""
        pieces = dict(zip(ORDER, w[f"gates_{part}"].split(HIDDEN), strict=False))
        pieces[4] = torch.zeros_like(pieces[1])
        return [pieces[number] for number in range(1, 9)]

    assert_equals_torchrecurrent(
        cell,
        w,
        "NASCell",
        weight_ih=blocks("input"),
        bias_ih=blocks("bias"),
        weight_hh=blocks("state"),
        bias_hh=[torch.zeros(8 * HIDDEN)],
    )
