"""The cells with gates in numpy: each one step, and the same step backwards.

Read `by_hand.py` first: the rules, the shapes, the product W x + U v + b and the way through time
are there. Equations are those of `lstm.py`, `gru.py` and `torch_gru.py`.
"""

from __future__ import annotations

import numpy as np

from elman.cells.by_hand import (
    ELMAN,
    Array,
    CellByHand,
    States,
    Values,
    Weights,
    product,
    product_backward,
    sigmoid,
    sigmoid_slope,
    tanh_slope,
)

# --- Long short-term memory (Hochreiter and Schmidhuber 1997), with a forget gate


def step_lstm(weights: Weights, x: Array, state: States) -> tuple[States, Values]:
    """State: (h, c)."""
    before, memory_before = state
    rows = np.split(product(weights, "gates", x, before), 4, axis=1)  # (B, 4H) → 4 × (B, H)
    input_gate = sigmoid(rows[0])  # i_t = σ(W_i x_t + U_i h_{t-1} + b_i)
    forget_gate = sigmoid(rows[1])  # f_t = σ(W_f x_t + U_f h_{t-1} + b_f)
    candidate = np.tanh(rows[2])  # g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)
    output_gate = sigmoid(rows[3])  # o_t = σ(W_o x_t + U_o h_{t-1} + b_o)
    memory = forget_gate * memory_before + input_gate * candidate  # c_t = f_t ∘ c_{t-1} + i_t ∘ g_t
    shown = np.tanh(memory)
    hidden = output_gate * shown  # h_t = o_t ∘ tanh(c_t)
    gates = (input_gate, forget_gate, candidate, output_gate)
    return (hidden, memory), (x, before, memory_before, *gates, shown)


def step_back_lstm(
    weights: Weights, values: Values, d_state: States, gradients: dict[str, Array]
) -> tuple[Array, States]:
    """The way back through c is a product with f_t alone: open gates let the gradient pass."""
    x, before, memory_before, input_gate, forget_gate, candidate, output_gate, shown = values
    d_hidden, d_memory = d_state
    d_output_gate = d_hidden * shown  # h_t = o_t ∘ tanh(c_t)
    d_memory = d_memory + d_hidden * output_gate * tanh_slope(shown)  # by step t + 1, by h_t
    d_forget_gate = d_memory * memory_before  # c_t = f_t ∘ c_{t-1} + i_t ∘ g_t
    d_input_gate = d_memory * candidate
    d_candidate = d_memory * input_gate
    d_rows = [
        d_input_gate * sigmoid_slope(input_gate),
        d_forget_gate * sigmoid_slope(forget_gate),
        d_candidate * tanh_slope(candidate),
        d_output_gate * sigmoid_slope(output_gate),
    ]
    d_product = np.concatenate(d_rows, axis=1)  # 4 × (B, H) → (B, 4H)
    d_x, d_before = product_backward(weights, "gates", x, before, d_product, gradients)
    return d_x, (d_before, d_memory * forget_gate)  # of h_{t-1} and c_{t-1}


# --- The gated recurrent unit of the lectures (Cho et al. 2014): reset first, u = 0 keeps


def step_gru(weights: Weights, x: Array, state: States) -> tuple[States, Values]:
    """State: (h,)."""
    (before,) = state
    rows = np.split(product(weights, "gates", x, before), 2, axis=1)  # (B, 2H) → 2 × (B, H)
    update = sigmoid(rows[0])  # u_t = σ(W_u x_t + U_u h_{t-1} + b_u)
    reset = sigmoid(rows[1])  # r_t = σ(W_r x_t + U_r h_{t-1} + b_r)
    # h̃_t = tanh(W_h x_t + U_h (r_t ∘ h_{t-1}) + b_h)
    candidate = np.tanh(product(weights, "candidate", x, reset * before))  # (B, H)
    hidden = (1 - update) * before + update * candidate  # h_t = (1 - u_t) ∘ h_{t-1} + u_t ∘ h̃_t
    return (hidden,), (x, before, update, reset, candidate)


def step_back_gru(
    weights: Weights, values: Values, d_state: States, gradients: dict[str, Array]
) -> tuple[Array, States]:
    """h_{t-1} is read three times in a step: by both gates, by the reset, and to be kept."""
    x, before, update, reset, candidate = values
    (d_hidden,) = d_state
    d_update = d_hidden * (candidate - before)  # h_t = (1 - u_t) ∘ h_{t-1} + u_t ∘ h̃_t
    d_product = d_hidden * update * tanh_slope(candidate)  # (B, H)
    by_candidate, d_kept = product_backward(
        weights, "candidate", x, reset * before, d_product, gradients
    )  # (B, I), and of r_t ∘ h_{t-1}: (B, H)
    d_rows = [d_update * sigmoid_slope(update), d_kept * before * sigmoid_slope(reset)]
    d_product = np.concatenate(d_rows, axis=1)  # 2 × (B, H) → (B, 2H)
    by_gates, d_before = product_backward(weights, "gates", x, before, d_product, gradients)
    d_before = d_before + d_kept * reset + d_hidden * (1 - update)
    return by_candidate + by_gates, (d_before,)  # x_t was read twice


# --- The gated recurrent unit of PyTorch and cuDNN: reset after the product, z = 1 keeps


def step_torch_gru(weights: Weights, x: Array, state: States) -> tuple[States, Values]:
    """State: (h,)."""
    (before,) = state
    rows = np.split(product(weights, "gates", x, before), 3, axis=1)  # (B, 3H) → 3 × (B, H)
    reset = sigmoid(rows[0])  # r_t = σ(W_r x_t + U_r h_{t-1} + b_r)
    keep = sigmoid(rows[1])  # z_t = σ(W_z x_t + U_z h_{t-1} + b_z)
    recurrent = rows[2]  # U_n h_{t-1} + b'_n
    read = x @ weights["candidate_input"].T + weights["candidate_bias"]  # W_n x_t + b_n, (B, H)
    candidate = np.tanh(read + reset * recurrent)  # n_t = tanh(… + r_t ∘ (U_n h_{t-1} + b'_n))
    hidden = (1 - keep) * candidate + keep * before  # h_t = (1 - z_t) ∘ n_t + z_t ∘ h_{t-1}
    return (hidden,), (x, before, reset, keep, recurrent, candidate)


def step_back_torch_gru(
    weights: Weights, values: Values, d_state: States, gradients: dict[str, Array]
) -> tuple[Array, States]:
    """h_{t-1} is read twice in a step: by one product, and to be kept."""
    x, before, reset, keep, recurrent, candidate = values
    (d_hidden,) = d_state
    d_keep = d_hidden * (before - candidate)  # h_t = (1 - z_t) ∘ n_t + z_t ∘ h_{t-1}
    d_read = d_hidden * (1 - keep) * tanh_slope(candidate)  # of W_n x_t + b_n, (B, H)
    d_reset = d_read * recurrent
    d_rows = [d_reset * sigmoid_slope(reset), d_keep * sigmoid_slope(keep), d_read * reset]
    d_product = np.concatenate(d_rows, axis=1)  # 3 × (B, H) → (B, 3H)
    by_gates, d_before = product_backward(weights, "gates", x, before, d_product, gradients)
    gradients["candidate_input"] += d_read.T @ x  # (H, I)
    gradients["candidate_bias"] += d_read.sum(axis=0)  # (H,)
    d_x = by_gates + d_read @ weights["candidate_input"]  # x_t was read twice
    return d_x, (d_before + d_hidden * keep,)


BY_HAND = {
    "elman": ELMAN,
    "lstm": CellByHand(step_lstm, step_back_lstm, "gates", states=2),
    "gru": CellByHand(step_gru, step_back_gru, "gates"),
    "torch-gru": CellByHand(step_torch_gru, step_back_torch_gru, "gates"),
}
