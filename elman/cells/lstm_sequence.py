"""The LSTM with projection or clipping over a whole sequence, with its way back written out.

    a_t = W x_t + U h_{t-1} + b                       gates: i_t, f_t, o_t = σ(a_t), g_t = tanh(a_t)
    c_t = clip(f_t ∘ c_{t-1} + i_t ∘ g_t)
    m_t = o_t ∘ tanh(c_t)
    h_t = clip(P m_t)

Back, with dh_t and dc_t from the output and from step t + 1 together, zero where clipped:

    dm_t = Pᵀ dh_t
    dc_t += dm_t ∘ o_t ∘ (1 - tanh(c_t)²)
    da_t = [dc_t ∘ g_t ∘ i_t', dc_t ∘ c_{t-1} ∘ f_t', dc_t ∘ i_t ∘ g_t', dm_t ∘ tanh(c_t) ∘ o_t']
    dc_{t-1} = dc_t ∘ f_t,  dh_{t-1} = Uᵀ da_t + its own output's

The gradient of P, too, is one product after the loop. Called by `lstm.py`, where PyTorch has no
kernel; `through_time.py` says why.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear

from elman.cells.cell import States, Weights
from elman.cells.engine import Run
from elman.cells.packing import Plain, lay_out
from elman.cells.second_derivative import refuse_second_derivative
from elman.cells.through_time import (
    sigmoid_derivative,
    states_from,
    tanh_derivative,
    time_first,
    weight_gradient,
)

Clips = tuple[float | None, float | None]  # bounds of c_t and of h_t


def run_lstm(inputs: torch.Tensor, state: States, weights: Weights, clips: Clips) -> Run:
    """All steps. inputs: (B, T, input_size); state h_0 and c_0."""
    bias, second = weights["gates_bias"], weights.get("gates_state_bias")
    by_time = time_first(inputs)
    parts = linear(by_time, weights["gates_input"], bias if second is None else bias + second)
    recurrent = weights["gates_state"]
    matrix = lay_out(recurrent, *by_time.shape[:2])
    outputs, memory = _LSTMSequence.apply(  # type: ignore[no-untyped-call]
        parts, *state, recurrent, weights.get("projection"), matrix, clips
    )
    return Run(outputs.transpose(0, 1), (outputs[-1], memory))


class _LSTMSequence(torch.autograd.Function):
    """Input parts of all steps (T, B, 4H), h_0, c_0, U and P to h_1 … h_T and c_T."""

    @staticmethod
    def forward(
        ctx: Any,
        parts: torch.Tensor,
        hidden: torch.Tensor,
        memory: torch.Tensor,
        recurrent: torch.Tensor,
        projection: torch.Tensor | None,
        matrix: Plain,
        clips: Clips,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        time, size = len(parts), memory.shape[1]
        states, memories = states_from(hidden, time), states_from(memory, time)
        gates, curved = torch.empty_like(parts), parts.new_empty(time, *memory.shape)
        # m_t; without a projection it is h_t itself
        read = states[1:] if projection is None else torch.empty_like(curved)
        for t in range(time):
            product = matrix.forward(parts[t], states[t])
            torch.sigmoid(product[:, : 2 * size], out=gates[t, :, : 2 * size])
            torch.tanh(product[:, 2 * size : 3 * size], out=gates[t, :, 2 * size : 3 * size])
            torch.sigmoid(product[:, 3 * size :], out=gates[t, :, 3 * size :])
            written, kept, candidate, output = gates[t].chunk(4, dim=1)
            memory = torch.mul(kept, memories[t], out=memories[t + 1])
            memory.addcmul_(written, candidate)
            _clip(memory, clips[0])
            torch.tanh(memory, out=curved[t])
            torch.mul(output, curved[t], out=read[t])
            if projection is not None:
                torch.mm(read[t], projection.t(), out=states[t + 1])
                _clip(states[t + 1], clips[1])
        ctx.save_for_backward(states, memories, gates, curved, read, recurrent, projection)
        ctx.matrix, ctx.clips = matrix, clips
        return states[1:], memories[-1].clone()

    @staticmethod
    def backward(
        ctx: Any, d_outputs: torch.Tensor, d_memory: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        refuse_second_derivative()
        states, memories, gates, curved, read, _, projection = ctx.saved_tensors
        d_gates = torch.empty_like(gates)
        d_states = torch.empty_like(states[1:])  # at P m_t
        d_hidden, d_memory = torch.zeros_like(states[0]), d_memory.clone()
        for t in reversed(range(len(gates))):
            torch.add(d_hidden, d_outputs[t], out=d_states[t])
            d_read = d_states[t]
            if projection is not None:
                _stop(d_states[t], states[t + 1], ctx.clips[1])
                d_read = d_states[t] @ projection
            written, kept, candidate, output = gates[t].chunk(4, dim=1)
            d_written, d_kept, d_candidate, d_output = d_gates[t].chunk(4, dim=1)
            sigmoid_derivative(d_read * curved[t], output, grad_input=d_output)
            d_memory += torch.ops.aten.tanh_backward(d_read * output, curved[t])
            _stop(d_memory, memories[t + 1], ctx.clips[0])
            sigmoid_derivative(d_memory * candidate, written, grad_input=d_written)
            sigmoid_derivative(d_memory * memories[t], kept, grad_input=d_kept)
            tanh_derivative(d_memory * written, candidate, grad_input=d_candidate)
            d_memory *= kept
            d_hidden = ctx.matrix.backward(d_gates[t])
        _, _, _, recurrent_wanted, projection_wanted, *_ = ctx.needs_input_grad
        return (
            d_gates,
            d_hidden,
            d_memory,
            weight_gradient(d_gates, states[:-1]) if recurrent_wanted else None,
            weight_gradient(d_states, read) if projection_wanted else None,
            None,
            None,
        )


def _clip(values: torch.Tensor, bound: float | None) -> None:
    if bound is not None:
        values.clamp_(-bound, bound)


def _stop(gradient: torch.Tensor, values: torch.Tensor, bound: float | None) -> None:
    """Nothing arrives at what was clipped."""
    if bound is not None:
        gradient.mul_(values.abs() < bound)
