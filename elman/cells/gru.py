"""The gated recurrent unit as it was published, and as PyTorch computes it."""

from __future__ import annotations

from typing import Any

import torch

from elman.cells.cell import Cell, Product, Run, States, Step, Weights
from elman.cells.engine import (
    finished,
    sigmoid_derivative,
    states_from,
    tanh_derivative,
    time_first,
    weight_gradient,
)
from elman.cells.products import Plain, lay_out, refuse_second_derivative
from elman.matrix_products import linear


class GRU(Cell):
    """The gated recurrent unit as published (Cho et al. 2014) and as written in lectures.

        u_t = σ(W_u x_t + U_u h_{t-1} + b_u)             update gate: 0 keeps, 1 replaces
        r_t = σ(W_r x_t + U_r h_{t-1} + b_r)             reset gate
        h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
        h_t = (1 - u_t) ∘ h_{t-1} + u_t ∘ h̃_t

    The GRU of PyTorch is a different cell, below: it resets after the product, and z = 1 - u.
    """

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
    """The published gated recurrent unit over a whole sequence, with an explicit backward pass.

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


class TorchGRU(Cell):
    """The gated recurrent unit as PyTorch and cuDNN compute it: the reset comes after the product.

        r_t = σ(W_r x_t + U_r h_{t-1} + b_r)
        z_t = σ(W_z x_t + U_z h_{t-1} + b_z)             1 keeps, 0 replaces
        n_t = tanh(W_n x_t + b_n + r_t ∘ (U_n h_{t-1} + b'_n))
        h_t = (1 - z_t) ∘ n_t + z_t ∘ h_{t-1}

    So all three products with h_{t-1} are one. Rows in the order r, z, n.
    """

    about = "gated recurrent unit as in PyTorch: reset after the product"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {
            # W feeds only the two gates; the input part of the candidate must stay separate from
            # its recurrent part, because the reset gate multiplies only the latter.
            "gates": Product(3 * hidden_size, 2 * hidden_size, hidden_size, partial=True),
            "candidate": Product(hidden_size, hidden_size, 0),
        }

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        # Split once: the backward pass then joins the pieces with one copy.
        product = step.product("gates", hidden).view(-1, 3, self.hidden_size)
        reset, keep, recurrent = product.unbind(1)
        reset, keep = torch.sigmoid(reset), torch.sigmoid(keep)
        candidate = torch.tanh(torch.addcmul(step.product("candidate"), reset, recurrent))
        new = torch.lerp(candidate, hidden, keep)
        step.record(hidden=new, reset=reset, keep=keep, candidate=candidate)
        return (new,)

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        if inputs.is_cuda:
            return self.run_kernel(inputs, state, weights)
        return run_torch_gru(inputs, state[0], weights)  # faster than the kernel on a CPU

    def run_kernel(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run:
        """All steps by `torch.gru`."""
        size = 2 * self.hidden_size
        bias, candidate_bias = weights["gates_bias"], weights["candidate_bias"]
        # PyTorch has two biases: those of the gates go into the first, the recurrent bias of the
        # candidate into the second.
        none = torch.zeros_like(bias[:size])
        flat = [
            torch.cat([weights["gates_input"], weights["candidate_input"]]),
            weights["gates_state"],
            torch.cat([bias[:size], candidate_bias]),
            torch.cat([none, bias[size:]]),
        ]
        settings = (True, 1, 0.0, torch.is_grad_enabled(), False, True)
        outputs, final = torch.gru(inputs, state[0].unsqueeze(0), flat, *settings)
        return Run(outputs, (final.squeeze(0),))


def run_torch_gru(inputs: torch.Tensor, start: torch.Tensor, weights: Weights) -> Run:
    """The gated recurrent unit of PyTorch over a whole sequence, with an explicit backward pass.

        a_t = U h_{t-1} + b                               three parts: of r_t, z_t, and m_t
        r_t, z_t = σ(W_g x_t + the first two of a_t)
        m_t = the third of a_t                            U_n h_{t-1} + b'_n
        n_t = tanh(c_t + r_t ∘ m_t)                       c_t = W_n x_t + b_n
        h_t = (1 - z_t) ∘ n_t + z_t ∘ h_{t-1}

    Back, with dh_t from the output and from step t + 1 together:

        dc_t     = dh_t ∘ (1 - z_t) ∘ (1 - n_t²)
        da_t     = [dc_t ∘ m_t ∘ r_t (1 - r_t), dh_t ∘ (h_{t-1} - n_t) ∘ z_t (1 - z_t), dc_t ∘ r_t]
        dh_{t-1} = Uᵀ da_t + dh_t ∘ z_t + its own output's

    The gradient of W_g x_t is that of the first two parts of a_t.

    All steps. inputs: (B, T, input_size); start h_0: (B, H).
    """
    by_time = time_first(inputs)
    gates = linear(by_time, weights["gates_input"])
    candidates = linear(by_time, weights["candidate_input"], weights["candidate_bias"])
    recurrent, bias = weights["gates_state"], weights["gates_bias"]
    matrix = lay_out(recurrent, *by_time.shape[:2])
    return finished(_TorchGRUSequence.apply(gates, candidates, start, recurrent, bias, matrix))  # type: ignore[no-untyped-call]


class _TorchGRUSequence(torch.autograd.Function):
    """Input parts of all steps (T, B, 2H) and (T, B, H), h_0, U and b to h_1 … h_T (T, B, H)."""

    @staticmethod
    def forward(
        ctx: Any,
        gate_parts: torch.Tensor,
        candidate_parts: torch.Tensor,
        start: torch.Tensor,
        recurrent: torch.Tensor,
        bias: torch.Tensor,
        matrix: Plain,
    ) -> torch.Tensor:
        size = start.shape[1]
        states = states_from(start, len(gate_parts))
        candidates = torch.empty_like(candidate_parts)
        biases = bias.expand(len(start), -1).contiguous()  # (B, 3H)
        products = []  # a_t, the gates' part replaced by r_t and z_t
        for t in range(len(candidates)):
            product = matrix.forward(biases, states[t])
            product[:, : 2 * size].add_(gate_parts[t]).sigmoid_()
            reset, keep, read = product.chunk(3, dim=1)
            torch.tanh(torch.addcmul(candidate_parts[t], reset, read), out=candidates[t])
            torch.lerp(candidates[t], states[t], keep, out=states[t + 1])
            products.append(product)
        ctx.save_for_backward(states, candidates, recurrent, *products)
        ctx.matrix = matrix
        return states[1:]

    @staticmethod
    def backward(ctx: Any, d_outputs: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        refuse_second_derivative()
        states, candidates, _, *products = ctx.saved_tensors
        d_candidates = torch.empty_like(candidates)  # dc_t
        d_products = candidates.new_empty(*candidates.shape[:2], 3 * states.shape[2])  # da_t
        d_reset, d_keep, d_read = d_products.chunk(3, dim=2)
        d_hidden = torch.zeros_like(states[0])
        for t in reversed(range(len(candidates))):
            reset, keep, read = products[t].chunk(3, dim=1)
            d_hidden += d_outputs[t]
            d_kept = d_hidden * keep
            tanh_derivative(d_hidden - d_kept, candidates[t], grad_input=d_candidates[t])
            sigmoid_derivative(d_candidates[t] * read, reset, grad_input=d_reset[t])
            d_hidden *= states[t] - candidates[t]
            sigmoid_derivative(d_hidden, keep, grad_input=d_keep[t])
            torch.mul(d_candidates[t], reset, out=d_read[t])
            d_hidden = d_kept.add_(ctx.matrix.backward(d_products[t]))
        recurrent_wanted, bias_wanted = ctx.needs_input_grad[3:5]
        return (
            d_products[:, :, : 2 * states.shape[2]],
            d_candidates,
            d_hidden,
            weight_gradient(d_products, states[:-1]) if recurrent_wanted else None,
            d_products.sum((0, 1)) if bias_wanted else None,
            None,
        )
