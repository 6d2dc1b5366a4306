"""Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000).

    i_t = σ(W_i x_t + U_i h_{t-1} + b_i)        input gate: what to write
    f_t = σ(W_f x_t + U_f h_{t-1} + b_f)        forget gate: what to keep
    g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)     candidate
    o_t = σ(W_o x_t + U_o h_{t-1} + b_o)        output gate: what to read
    c_t = f_t ∘ c_{t-1} + i_t ∘ g_t
    h_t = o_t ∘ tanh(c_t)

All gates share one product, with rows in the order i, f, g, o. PyTorch has two biases, b_i + b_h
(`second_bias`); lectures write one. With a projection (Sak et al. 2014; the LSTM-2048-512 of
Józefowicz et al. 2016), h_t = P (o_t ∘ tanh(c_t)). Clipping keeps c_t and h_t within bounds (ELMo).
"""

from __future__ import annotations

from typing import Any

import torch

from elman.cells.cell import Advance, Cell, MakeLinear, Product, Run, States, Step, Weights
from elman.cells.engine import (
    run_fused,
    sigmoid_derivative,
    states_from,
    tanh_derivative,
    time_first,
    weight_gradient,
)
from elman.cells.products import Plain, lay_out, refuse_second_derivative
from elman.errors import InputError
from elman.matrix_products import linear

# Input gate, forget gate, candidate, output gate; None for a missing gate.
Activated = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor, torch.Tensor | None]


class LSTM(Cell):
    """Gates decide what to write, keep and read. State: (h, c)."""

    about = "long short-term memory (Hochreiter and Schmidhuber 1997)"
    gates = "ifgo"  # rows of the product; ablations lack one

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        forget_bias: float = 0.0,
        second_bias: bool = False,
        projection: int | None = None,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        for name, value in {"cell_clip": cell_clip, "projection_clip": projection_clip}.items():
            if value is not None and value <= 0:
                raise InputError(f"{name}={value}: must be above 0")
        if projection is not None and projection < 1:
            raise InputError(f"projection={projection}: must be at least 1")
        if projection_clip is not None and projection is None:
            raise InputError("projection_clip: there is no projection to clip; set projection")
        if forget_bias and "f" not in self.gates:
            raise InputError("forget_bias: this cell has no forget gate")
        self.forget_bias = forget_bias
        self.projection = projection
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        output_size = projection or hidden_size
        self.state_sizes = (output_size, hidden_size)
        rows = len(self.gates) * hidden_size
        self.products = {"gates": Product(rows, rows, output_size, second_bias=second_bias)}
        if projection:
            self.own_weights = {"projection": (projection, hidden_size)}

    def initialise(self, weights: Weights) -> None:
        super().initialise(weights)
        if self.forget_bias:
            start = self.gates.index("f") * self.hidden_size
            weights["gates_bias"][start : start + self.hidden_size] += self.forget_bias

    def step(self, step: Step, state: States) -> States:
        hidden, memory = state
        input_gate, forget_gate, candidate, output_gate = self.activate(
            step.product("gates", hidden)
        )
        memory = self.keep(forget_gate, memory) + self.keep(input_gate, candidate)
        if self.cell_clip is not None:
            memory = memory.clamp(-self.cell_clip, self.cell_clip)
        output = self.project(step, self.keep(output_gate, torch.tanh(memory)))
        step.record(hidden=output, cell=memory, candidate=candidate)
        gates = {"input": input_gate, "forget": forget_gate, "output": output_gate}
        step.record(**{name: gate for name, gate in gates.items() if gate is not None})
        return output, memory

    def activate(self, product: torch.Tensor) -> Activated:
        """Input gate, forget gate, candidate, output gate."""
        in_and_forget, candidate, out = product.split_with_sizes(
            [2 * self.hidden_size, self.hidden_size, self.hidden_size], dim=1
        )
        input_gate, forget_gate = torch.sigmoid(in_and_forget).chunk(2, dim=1)
        return input_gate, forget_gate, torch.tanh(candidate), torch.sigmoid(out)

    @staticmethod
    def keep(gate: torch.Tensor | None, value: torch.Tensor) -> torch.Tensor:
        """The gated value; a missing gate is always open."""
        return value if gate is None else gate * value

    def project(self, step: Step, hidden: torch.Tensor) -> torch.Tensor:
        if self.projection is None:
            return hidden
        projected = hidden @ step.weight("projection").t()
        if self.projection_clip is not None:
            projected = projected.clamp(-self.projection_clip, self.projection_clip)
        return projected

    @property
    def steps_alike(self) -> bool:
        own = type(self).step is LSTM.step and type(self).activate is LSTM.activate
        return own and self.projection is None and self.cell_clip is None

    def prepare_step(self, weights: Weights, make: MakeLinear | None) -> Advance | None:
        """PyTorch's own step, or one with given products.

        With σ(a) = (1 + tanh(a / 2)) / 2, one tanh serves all gates.

        PyTorch's sigmoid rounds differently at the end of a tensor; tanh, sums and products of
        two numbers do not, so the rows of a batch do not depend on each other.
        """
        if not self.steps_alike:
            return None
        if make is None:
            return _torch_step(self, weights)
        size = self.hidden_size
        half = torch.full((4 * size, 1), 0.5).to(weights["gates_state"])
        half[2 * size : 3 * size] = 1  # the candidate
        matrix = torch.cat([weights["gates_input"], weights["gates_state"]], dim=1) * half
        bias = self.bias("gates", weights)
        product = make(matrix, None if bias is None else bias * half[:, 0])

        def advance(inputs: torch.Tensor, state: States) -> States:
            hidden, memory = state
            gates = torch.tanh_(product(torch.cat([inputs, hidden], dim=1)))
            written, kept, candidate, output = gates.split_with_sizes([size] * 4, dim=1)
            memory = (kept.add_(1) * memory).add_(written.add_(1).mul_(candidate)).mul_(0.5)
            return torch.tanh(memory).mul_(output.add_(1)).mul_(0.5), memory

        return advance

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        if self.gates != "ifgo":
            return None
        if self.projection is not None or self.cell_clip is not None:
            return run_lstm(inputs, state, weights, (self.cell_clip, self.projection_clip))
        return run_fused(torch.lstm, inputs, state, weights, "gates")


def _torch_step(cell: LSTM, weights: Weights) -> Advance:
    """One call for the whole step."""
    matrices = weights["gates_input"], weights["gates_state"]
    bias = cell.bias("gates", weights)
    biases = None if bias is None else (bias, torch.zeros_like(bias))

    def advance(inputs: torch.Tensor, state: States) -> States:
        if biases is None:
            return torch.lstm_cell(inputs, state, *matrices)
        return torch.lstm_cell(inputs, state, *matrices, *biases)

    return advance


Clips = tuple[float | None, float | None]  # bounds of c_t and of h_t


def run_lstm(inputs: torch.Tensor, state: States, weights: Weights, clips: Clips) -> Run:
    """The LSTM with projection or clipping over a whole sequence, with an explicit backward pass.

        a_t = W x_t + U h_{t-1} + b                   gates: i_t, f_t, o_t = σ(a_t), g_t = tanh(a_t)
        c_t = clip(f_t ∘ c_{t-1} + i_t ∘ g_t)
        m_t = o_t ∘ tanh(c_t)
        h_t = clip(P m_t)

    Back, with dh_t and dc_t from the output and from step t + 1 together, zero where clipped:

        dm_t = Pᵀ dh_t
        dc_t += dm_t ∘ o_t ∘ (1 - tanh(c_t)²)
        da_t = [dc_t ∘ g_t ∘ i_t', dc_t ∘ c_{t-1} ∘ f_t', dc_t ∘ i_t ∘ g_t',
                dm_t ∘ tanh(c_t) ∘ o_t']
        dc_{t-1} = dc_t ∘ f_t,  dh_{t-1} = Uᵀ da_t + its own output's

    The gradient of P is also one product after the loop. PyTorch has no kernel for these variants.

    All steps. inputs: (B, T, input_size); state h_0 and c_0.
    """
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
    """Clipped values get no gradient."""
    if bound is not None:
        gradient.mul_(values.abs() < bound)
