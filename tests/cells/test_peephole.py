"""The peephole LSTM against its equations."""

import torch

from elman.cells.lstm_variants import Peephole

INPUT, HIDDEN = 2, 3


def test_equations(build, gates_of, assert_equals_naive) -> None:
    cell, weights = build(Peephole(INPUT, HIDDEN))
    i, f, g, o = gates_of(weights, "gates", HIDDEN, 4)
    p_i, p_f = weights["peephole_gates"]
    p_o = weights["peephole_output"]

    def naive(x, state):
        h, c = state
        input_gate = torch.sigmoid(x @ i.W.t() + h @ i.U.t() + p_i * c + i.b)
        forget_gate = torch.sigmoid(x @ f.W.t() + h @ f.U.t() + p_f * c + f.b)
        c = forget_gate * c + input_gate * torch.tanh(x @ g.W.t() + h @ g.U.t() + g.b)
        output_gate = torch.sigmoid(x @ o.W.t() + h @ o.U.t() + p_o * c + o.b)
        return output_gate * torch.tanh(c), c

    assert_equals_naive(cell, weights, naive)


def test_forget_bias() -> None:
    cell = Peephole(INPUT, HIDDEN, forget_bias=10.0)
    weights = {name: torch.empty(shape) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    assert (weights["gates_bias"] > 5).nonzero().flatten().tolist() == [3, 4, 5]
