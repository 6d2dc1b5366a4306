"""The gated recurrent unit as PyTorch and cuDNN compute it: the reset comes after the product.

    r_t = σ(W_r x_t + U_r h_{t-1} + b_r)
    z_t = σ(W_z x_t + U_z h_{t-1} + b_z)             1 keeps, 0 replaces
    n_t = tanh(W_n x_t + b_n + r_t ∘ (U_n h_{t-1} + b'_n))
    h_t = (1 - z_t) ∘ n_t + z_t ∘ h_{t-1}

So all three products with h_{t-1} are one. Rows in the order r, z, n.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.cells.engine import Run
from elman.cells.torch_gru_sequence import run_torch_gru


class TorchGRU(Cell):
    """Two gates, one product per step."""

    about = "gated recurrent unit as in PyTorch: reset after the product"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.products = {
            # W feeds the two gates only; the candidate's input part must stay apart from its
            # recurrent part, because the reset gate stands between them.
            "gates": Product(3 * hidden_size, 2 * hidden_size, hidden_size),
            "candidate": Product(hidden_size, hidden_size, 0),
        }

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        # Cut once: the way back puts the pieces together with one copy.
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
        # Two biases there: the gates' in the first, the candidate's recurrent one in the second.
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
