"""Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000).

    i_t = σ(W_i x_t + U_i h_{t-1} + b_i)        input gate: what to write
    f_t = σ(W_f x_t + U_f h_{t-1} + b_f)        forget gate: what to keep
    g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)     what could be written
    o_t = σ(W_o x_t + U_o h_{t-1} + b_o)        output gate: what to read
    c_t = f_t ∘ c_{t-1} + i_t ∘ g_t
    h_t = o_t ∘ tanh(c_t)

The products of all gates are one, rows in the order i, f, g, o. PyTorch writes two biases, b_i +
b_h (`second_bias`); lectures write one. With a projection (Sak et al. 2014; the LSTM-2048-512 of
Józefowicz et al. 2016), h_t = P (o_t ∘ tanh(c_t)). Clipping keeps c_t and h_t within bounds (ELMo).
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.engine import Run
from elman.cells.fusing import run_fused
from elman.cells.lstm_sequence import run_lstm
from elman.errors import InputError

# Input gate, forget gate, candidate, output gate; None where a gate was taken out.
Activated = tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor, torch.Tensor | None]


class LSTM(Cell):
    """Gates decide what to write, keep and read. State: (h, c)."""

    about = "long short-term memory (Hochreiter and Schmidhuber 1997)"
    gates = "ifgo"  # rows of the product; an ablation lacks one

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
        """The gated value; a gate that was taken out is always open."""
        return value if gate is None else gate * value

    def project(self, step: Step, hidden: torch.Tensor) -> torch.Tensor:
        if self.projection is None:
            return hidden
        projected = hidden @ step.weight("projection").t()
        if self.projection_clip is not None:
            projected = projected.clamp(-self.projection_clip, self.projection_clip)
        return projected

    def fused(self, inputs: torch.Tensor, state: States, weights: Weights) -> Run | None:
        if self.gates != "ifgo":
            return None
        if self.projection is not None or self.cell_clip is not None:
            return run_lstm(inputs, state, weights, (self.cell_clip, self.projection_clip))
        return run_fused(torch.lstm, inputs, state, weights, "gates")
