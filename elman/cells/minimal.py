"""Minimal cells whose steps can be computed in parallel (Feng et al. 2024).

From "Were RNNs all we needed?". The gates do not read the state; only the last line of each cell
does, and that is a scan.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import logsigmoid

from elman.cells.cell import Cell, Product, Run, States, Step, Weights
from elman.matrix_products import linear


class MinGRU(Cell):
    """The minimal GRU, which can be computed in parallel (Feng et al. 2024).

        z_t = σ(W_z x_t + b_z)                                   update gate: reads the input only
        h̃_t = W_h x_t + b_h
        h_t = (1 - z_t) ∘ h_{t-1} + z_t ∘ h̃_t

    Rows in the order z, h.
    """

    about = "minimal GRU (Feng et al. 2024): all steps at once"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {"gates": Product(2 * hidden_size, 2 * hidden_size, 0)}

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update, candidate = step.product("gates").chunk(2, dim=1)
        update = torch.sigmoid(update)
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        gates = linear(inputs, weights["gates_input"], weights["gates_bias"])
        update, candidate = gates.chunk(2, dim=2)  # (B, T, hidden_size)
        update = torch.sigmoid(update)
        outputs = scan(1 - update, update * candidate, state[0])
        return Run(outputs, (outputs[:, -1],))


class MinLSTM(Cell):
    """The minimal LSTM, which can be computed in parallel (Feng et al. 2024).

        f_t = σ(W_f x_t + b_f)                                   forget gate: reads the input only
        i_t = σ(W_i x_t + b_i)                                   input gate: reads the input only
        h̃_t = W_h x_t + b_h
        f'_t = f_t / (f_t + i_t), i'_t = i_t / (f_t + i_t)
        h_t = f'_t ∘ h_{t-1} + i'_t ∘ h̃_t

    Rows in the order f, i, h.
    """

    about = "minimal LSTM (Feng et al. 2024): all steps at once"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {"gates": Product(3 * hidden_size, 3 * hidden_size, 0)}

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        keep, candidate = self.activate(step.product("gates"))
        new = torch.lerp(candidate, hidden, keep)
        step.record(hidden=new, forget=keep, input=1 - keep, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        gates = linear(inputs, weights["gates_input"], weights["gates_bias"])
        keep, candidate = self.activate(gates)  # (B, T, hidden_size)
        outputs = scan(keep, (1 - keep) * candidate, state[0])
        return Run(outputs, (outputs[:, -1],))

    def activate(self, gates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """f' and the candidate; i' is 1 - f'."""
        both, candidate = gates.split_with_sizes([2 * self.hidden_size, self.hidden_size], dim=-1)
        # f / (f + i) = σ(log f - log i), which also works if both gates are too small to divide.
        forget_gate, input_gate = logsigmoid(both).chunk(2, dim=-1)
        return torch.sigmoid(forget_gate - input_gate), candidate


# With this many numbers per step, a CPU is faster step by step than in rounds.
_WORTH_WALKING = 1000


def scan(decay: torch.Tensor, added: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """All steps of h_t = a_t ∘ h_{t-1} + b_t, in log2 T rounds (Hillis and Steele 1986).

    Two steps in a row are one step of the same kind:

        h_t = a_t (a_{t-1} h_{t-2} + b_{t-1}) + b_t = (a_t a_{t-1}) h_{t-2} + (a_t b_{t-1} + b_t)

    so each round doubles the reach of every position. It uses only products and sums, so it is
    stable for |a| ≤ 1, like the steps. Rounds do more work in total; if one step already keeps the
    CPU busy, the steps run one by one. Called by the cells whose gates do not read the state.

    h_1 … h_T. decay a and added b: (B, T, size); start h_0: (B, size).
    """
    first = torch.addcmul(added[:, :1], decay[:, :1], start[:, None])
    return _Scan.apply(decay, torch.cat([first, added[:, 1:]], dim=1))  # type: ignore[no-untyped-call]


def _double(decay: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    reach = 1  # decay and added of a position cover this many steps
    decay, added = decay.clone(), added.clone()
    time = added.shape[1]
    while reach < time:
        added[:, reach:] += decay[:, reach:] * added[:, :-reach]
        if 2 * reach < time:
            decay[:, reach:] = decay[:, reach:] * decay[:, :-reach]
        reach *= 2
    return added


def _walk(decay: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    hidden = added.clone()
    steps = hidden.unbind(1)
    for t, by in enumerate(decay.unbind(1)[1:]):
        steps[t + 1].addcmul_(by, steps[t])
    return hidden


class _Scan(torch.autograd.Function):
    """The gradient of a scan is a scan from the end: db_t = dh_t + a_{t+1} ∘ db_{t+1}.

    So autograd does not record the rounds; only a and h are stored, for any T.
    """

    @staticmethod
    def forward(ctx: Any, decay: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        walks = not added.is_cuda and added[:, 0].numel() >= _WORTH_WALKING
        hidden = _walk(decay, added) if walks else _double(decay, added)
        ctx.save_for_backward(decay, hidden)
        return hidden

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        decay, hidden = ctx.saved_tensors
        nothing = torch.zeros_like(decay[:, :1])
        following = torch.cat([decay[:, 1:], nothing], dim=1)
        back = _Scan.apply(following.flip(1), gradient.flip(1)).flip(1)  # type: ignore[no-untyped-call]
        before = torch.cat([nothing, hidden[:, :-1]], dim=1)
        return back * before, back
