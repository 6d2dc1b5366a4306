"""The gated recurrent unit as it was published (Cho et al. 2014) and as lectures write it.

    u_t = σ(W_u x_t + U_u h_{t-1} + b_u)             update gate: 0 keeps, 1 replaces
    r_t = σ(W_r x_t + U_r h_{t-1} + b_r)             reset gate
    h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
    h_t = (1 - u_t) ∘ h_{t-1} + u_t ∘ h̃_t

PyTorch's GRU is another cell (`torch_gru.py`): it resets after the product, and its gate z = 1 - u.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.engine import Run
from elman.cells.products import Plain, lay_out, refuse_second_derivative
from elman.cells.through_time import (
    finished,
    sigmoid_derivative,
    states_from,
    tanh_derivative,
    time_first,
    weight_gradient,
)


class GRU(Cell):
    """Two gates, no separate memory."""

    about = "gated recurrent unit (Cho et al. 2014): reset before the product"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {
            "gates": Product(2 * hidden_size, 2 * hidden_size, hidden_size),
            "candidate": Product(hidden_size, hidden_size, hidden_size),
        }

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        update, reset = torch.sigmoid(step.product("gates", hidden)).chunk(2, dim=1)
        candidate = torch.tanh(step.product("candidate", reset * hidden))
        new = torch.lerp(hidden, candidate, update)
        step.record(hidden=new, update=update, reset=reset, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        return run_gru(inputs, state[0], weights)


def run_gru(inputs: torch.Tensor, start: torch.Tensor, weights: Weights) -> Run:
    """The published gated recurrent unit over a whole sequence, with its way back written out.

        a_t = W_g x_t + U_g h_{t-1} + b_g                 gates: u_t, r_t = σ(a_t)
        s_t = r_t ∘ h_{t-1}
        c_t = W_h x_t + U_h s_t + b_h                     candidate: h̃_t = tanh(c_t)
        h_t = (1 - u_t) ∘ h_{t-1} + u_t ∘ h̃_t

    Back, with dh_t from the output and from step t + 1 together:

        dc_t     = dh_t ∘ u_t ∘ (1 - h̃_t²)
        ds_t     = U_hᵀ dc_t
        da_t     = [dh_t ∘ (h̃_t - h_{t-1}) ∘ u_t (1 - u_t), ds_t ∘ h_{t-1} ∘ r_t (1 - r_t)]
        dh_{t-1} = U_gᵀ da_t + ds_t ∘ r_t + dh_t ∘ (1 - u_t) + its own output's

    All steps. inputs: (B, T, input_size); start h_0: (B, H).
    """
    by_time = time_first(inputs)
    gates = linear(by_time, weights["gates_input"], weights["gates_bias"])
    candidates = linear(by_time, weights["candidate_input"], weights["candidate_bias"])
    recurrent = (weights["gates_state"], weights["candidate_state"])
    matrices = tuple(lay_out(weight, *by_time.shape[:2]) for weight in recurrent)
    return finished(_GRUSequence.apply(gates, candidates, start, *recurrent, matrices))  # type: ignore[no-untyped-call]


class _GRUSequence(torch.autograd.Function):
    """Input parts of all steps (T, B, 2H) and (T, B, H), h_0, U_g and U_h to h_1 … h_T."""

    @staticmethod
    def forward(
        ctx: Any,
        gate_parts: torch.Tensor,
        candidate_parts: torch.Tensor,
        start: torch.Tensor,
        gates_recurrent: torch.Tensor,
        candidate_recurrent: torch.Tensor,
        matrices: tuple[Plain, Plain],
    ) -> torch.Tensor:
        to_gates, to_candidate = matrices
        states = states_from(start, len(gate_parts))
        gates, candidates = torch.empty_like(gate_parts), torch.empty_like(candidate_parts)
        update, reset = gates.chunk(2, dim=2)
        read = torch.empty_like(candidate_parts)  # s_t
        for t in range(len(gates)):
            before = states[t]
            torch.sigmoid(to_gates.forward(gate_parts[t], before), out=gates[t])
            torch.mul(reset[t], before, out=read[t])
            torch.tanh(to_candidate.forward(candidate_parts[t], read[t]), out=candidates[t])
            torch.lerp(before, candidates[t], update[t], out=states[t + 1])
        ctx.save_for_backward(states, gates, candidates, read, gates_recurrent, candidate_recurrent)
        ctx.matrices = matrices
        return states[1:]

    @staticmethod
    def backward(ctx: Any, d_outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        refuse_second_derivative()
        states, gates, candidates, read, *_ = ctx.saved_tensors
        to_gates, to_candidate = ctx.matrices
        d_gates, d_candidates = torch.empty_like(gates), torch.empty_like(candidates)
        update, reset = gates.chunk(2, dim=2)
        d_update, d_reset = d_gates.chunk(2, dim=2)
        d_hidden = torch.zeros_like(states[0])
        for t in reversed(range(len(gates))):
            before, candidate = states[t], candidates[t]
            d_hidden += d_outputs[t]
            d_replaced = d_hidden * update[t]
            tanh_derivative(d_replaced, candidate, grad_input=d_candidates[t])
            d_read = to_candidate.backward(d_candidates[t])  # ds_t
            sigmoid_derivative(d_hidden * (candidate - before), update[t], grad_input=d_update[t])
            sigmoid_derivative(d_read * before, reset[t], grad_input=d_reset[t])
            d_hidden = d_hidden.sub_(d_replaced).addcmul_(d_read, reset[t])
            d_hidden += to_gates.backward(d_gates[t])
        _, _, _, gates_wanted, candidate_wanted, _ = ctx.needs_input_grad
        return (
            d_gates,
            d_candidates,
            d_hidden,
            weight_gradient(d_gates, states[:-1]) if gates_wanted else None,
            weight_gradient(d_candidates, read) if candidate_wanted else None,
            None,
        )
