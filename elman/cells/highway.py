"""The recurrent highway network: several layers within one step (Zilly et al. 2017).

    s_0 = h_{t-1}; for l = 1 … L:
    h_l = tanh(W_H x_t + R_{H,l} s_{l-1} + b_{H,l})          W x_t at l = 1 only
    t_l = σ(W_T x_t + R_{T,l} s_{l-1} + b_{T,l})             transform gate
    s_l = h_l ∘ t_l + s_{l-1} ∘ (1 - t_l)                    carry gate coupled: 1 - t
    h_t = s_L

Each depth has one product, with rows in the order h, t. The transform gates start almost closed, so
a new network carries its state.
"""

from __future__ import annotations

import torch

from elman.cells.cell import Cell, Product, States, Step, Weights
from elman.errors import InputError


class RecurrentHighway(Cell):
    """A deep step with a highway connection at every depth."""

    about = "recurrent highway network (Zilly et al. 2017): several layers within a step"

    def __init__(
        self, input_size: int, hidden_size: int, *, depth: int = 5, transform_bias: float = -2.0
    ) -> None:
        if depth < 1:
            raise InputError(f"cell 'highway' needs a depth of at least 1, not {depth}")
        super().__init__(input_size, hidden_size)
        self.depth = depth
        self.transform_bias = transform_bias
        rows = 2 * hidden_size
        self.products = {
            f"depth{level}": Product(rows, rows if level == 1 else 0, hidden_size)
            for level in range(1, depth + 1)
        }

    def initialise(self, weights: Weights) -> None:
        super().initialise(weights)
        for name in self.products:
            weights[f"{name}_bias"][self.hidden_size :].fill_(self.transform_bias)

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        for name in self.products:
            candidate, transform = step.product(name, hidden).chunk(2, dim=1)
            candidate, transform = torch.tanh(candidate), torch.sigmoid(transform)
            hidden = torch.lerp(hidden, candidate, transform)
            step.record(**{f"candidate_{name}": candidate, f"transform_{name}": transform})
            step.record(**{f"hidden_{name}": hidden})
        step.record(hidden=hidden)
        return (hidden,)
