"""The LSTM with one part taken out or changed (Józefowicz, Zaremba and Sutskever 2015).

    LSTM-f, no forget gate:     c_t = c_{t-1} + i_t ∘ g_t
    LSTM-i, no input gate:      c_t = f_t ∘ c_{t-1} + g_t
    LSTM-o, no output gate:     h_t = tanh(c_t)
    LSTM-b, biased to remember: b_f starts at 1 higher; the equations are the LSTM's

All else is as in `lstm.py`; the rows of the missing gate are missing from the product too.
"""

from __future__ import annotations

from typing import Any

import torch

from elman.cells.lstm import LSTM, Activated


class _Ablated(LSTM):
    """An LSTM whose `gates` lack one letter."""

    def activate(self, product: torch.Tensor) -> Activated:
        first = self.gates.index("g")  # gates before the candidate are neighbours: one sigmoid
        last = len(self.gates) - first - 1
        before, candidate, after = product.split_with_sizes(
            [part * self.hidden_size for part in (first, 1, last)], dim=1
        )
        gates = dict(zip(self.gates, torch.sigmoid(before).chunk(first, dim=1), strict=False))
        output_gate = torch.sigmoid(after) if last else None
        return gates.get("i"), gates.get("f"), torch.tanh(candidate), output_gate


class NoForgetLSTM(_Ablated):
    """LSTM-f: the cell only ever adds."""

    about = "LSTM without its forget gate (Józefowicz et al. 2015)"
    gates = "igo"


class NoInputLSTM(_Ablated):
    """LSTM-i: every candidate is written."""

    about = "LSTM without its input gate (Józefowicz et al. 2015)"
    gates = "fgo"


class NoOutputLSTM(_Ablated):
    """LSTM-o: the whole cell is read."""

    about = "LSTM without its output gate (Józefowicz et al. 2015)"
    gates = "ifg"


class BiasedLSTM(LSTM):
    """LSTM-b: the forget gate starts open."""

    about = "LSTM whose forget gate starts with a bias of 1 (Józefowicz et al. 2015)"

    def __init__(
        self, input_size: int, hidden_size: int, *, forget_bias: float = 1.0, **options: Any
    ) -> None:
        super().__init__(input_size, hidden_size, forget_bias=forget_bias, **options)
