"""Cells in numpy, with explicit back-propagation through time: a reference to read.

A cell is two functions: a forward step and a backward step. `forward` runs the first over inputs
(B, T, I) and stores the values of every step; `backward` runs the second from the last step to the
first. Each line has its equation, as in the torch cells (`elman_rnn.py`, `lstm.py`, `gru.py`), and
weights have the same names and rows. B: batch, T: time, I: input size, H: hidden size.

`d_v` is the gradient of the loss with respect to v, in the shape of v. Two rules are enough:

    a value that is read twice      gets the sum of its two gradients
    a weight that all steps share   gets the sum over all steps (`+=` below)

Truncated back-propagation: run `forward` on the pieces of a long text, each from the final state of
the previous one, but `backward` on each piece alone, without `d_state`. The state is carried over
all pieces; the gradient stops at the border. To avoid truncation, pass `Gradients.state` of each
piece as `d_state` of the piece before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]
States = tuple[Array, ...]  # each (B, H); the first is the output
Values = tuple[Array, ...]  # values of a step, which its backward step unpacks
Cache = list[Values]  # of all steps


class CellByHand(NamedTuple):
    """The forward step and the backward step of a cell."""

    # weights, x_t (B, I) and the state before it → the state after it, and what was computed
    step: Callable[[Weights, Array, States], tuple[States, Values]]
    # weights, what was computed, d_state after x_t, gradients to add to → d_x, d_state before it
    step_back: Callable[[Weights, Values, States, dict[str, Array]], tuple[Array, States]]
    product: str  # name of a product that reads x and h; its shapes give I and H
    states: int = 1  # how many there are


class Forward(NamedTuple):
    """The result of running a cell over time."""

    outputs: Array  # (B, T, H)
    state: States  # after the last step
    cache: Cache


class Gradients(NamedTuple):
    """The gradients of inputs, initial state and weights."""

    inputs: Array  # (B, T, I)
    state: States  # of the initial state
    weights: dict[str, Array]


# --- Parts of all cells


def product(weights: Weights, name: str, x: Array, v: Array) -> Array:
    """W x + U v + b, (B, rows); W may feed the first rows only, and PyTorch writes two biases."""
    W, U, b = (weights[f"{name}_{part}"] for part in ("input", "state", "bias"))
    total = v @ U.T + b + weights.get(f"{name}_state_bias", 0.0)  # (B, H) (H, rows) → (B, rows)
    total[:, : len(W)] += x @ W.T  # (B, I) (I, len(W)) → (B, len(W))
    return total


def product_backward(
    weights: Weights, name: str, x: Array, v: Array, d_product: Array, gradients: dict[str, Array]
) -> tuple[Array, Array]:
    """Add the gradients of W, U and b at this step; give d_x and d_v."""
    W, U = weights[f"{name}_input"], weights[f"{name}_state"]
    d_fed = d_product[:, : len(W)]  # the rows that W feeds
    gradients[f"{name}_input"] += d_fed.T @ x  # Σ_t d_t x_tᵀ: (len(W), B) (B, I) → (len(W), I)
    gradients[f"{name}_state"] += d_product.T @ v  # Σ_t d_t v_tᵀ: (rows, B) (B, H) → (rows, H)
    for bias in {f"{name}_bias", f"{name}_state_bias"} & weights.keys():
        gradients[bias] += d_product.sum(axis=0)  # Σ_t d_t: (rows,)
    return d_fed @ W, d_product @ U  # (B, I), (B, H)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), in a form that cannot overflow."""
    return (1 + np.tanh(x / 2)) / 2


def sigmoid_slope(y: Array) -> Array:
    """σ'(x) at y = σ(x); at most 1/4."""
    return y * (1 - y)


def tanh_slope(y: Array) -> Array:
    """tanh'(x) at y = tanh(x); at most 1."""
    return 1 - y**2


# --- Through time


def forward(
    cell: CellByHand, weights: Weights, inputs: Array, state: States | None = None
) -> Forward:
    """Run a cell over inputs (B, T, I), from a state or from zeros."""
    batch_size, time, _ = inputs.shape
    hidden_size = weights[f"{cell.product}_state"].shape[1]
    if state is None:
        state = tuple(np.zeros((batch_size, hidden_size)) for _ in range(cell.states))
    outputs = np.zeros((batch_size, time, hidden_size))
    cache: Cache = []
    for t in range(time):
        state, values = cell.step(weights, inputs[:, t], state)
        outputs[:, t] = state[0]
        cache.append(values)
    return Forward(outputs, state, cache)


def backward(
    cell: CellByHand,
    weights: Weights,
    cache: Cache,
    d_outputs: Array,
    d_state: States | None = None,
) -> Gradients:
    """Back-propagate from the gradients of all outputs (B, T, H), and of the final state if any."""
    batch_size, time, hidden_size = d_outputs.shape
    if d_state is None:
        d_state = tuple(np.zeros((batch_size, hidden_size)) for _ in range(cell.states))
    d_inputs = np.zeros((batch_size, time, weights[f"{cell.product}_input"].shape[1]))
    gradients = {name: np.zeros_like(weight) for name, weight in weights.items()}
    for t in reversed(range(time)):
        d_hidden, *d_others = d_state
        d_hidden = d_hidden + d_outputs[:, t]  # h_t was read by step t + 1 and as an output
        d_inputs[:, t], d_state = cell.step_back(
            weights, cache[t], (d_hidden, *d_others), gradients
        )
    return Gradients(d_inputs, d_state, gradients)


# --- The simple recurrent network (Elman 1990): h_t = tanh(W x_t + U h_{t-1} + b)


def step_elman(weights: Weights, x: Array, state: States) -> tuple[States, Values]:
    """State: (h,)."""
    (before,) = state  # (B, H)
    hidden = np.tanh(product(weights, "hidden", x, before))  # h_t = tanh(W x_t + U h_{t-1} + b)
    return (hidden,), (x, before, hidden)


def step_back_elman(
    weights: Weights, values: Values, d_state: States, gradients: dict[str, Array]
) -> tuple[Array, States]:
    """Every step back multiplies by diag(1 - h_t²) U."""
    x, before, hidden = values
    (d_hidden,) = d_state
    d_product = d_hidden * tanh_slope(hidden)  # (B, H)
    d_x, d_before = product_backward(weights, "hidden", x, before, d_product, gradients)
    return d_x, (d_before,)


ELMAN = CellByHand(step_elman, step_back_elman, "hidden")


# --- Vanishing and exploding gradients, and clipping


def jacobian_norms(weights: Weights, outputs: Array) -> Array:
    """How much h_T still depends on h_t in the Elman cell: ‖∂h_T/∂h_t‖ for t = 0 … T, (B, T + 1).

    The norm is the largest singular value. At t = T it is 1; for earlier t it depends on whether
    the factors diag(1 - h²) U shrink or stretch (Pascanu et al. 2013).
    """
    batch_size, _, hidden_size = outputs.shape
    jacobian = np.tile(np.eye(hidden_size), (batch_size, 1, 1))  # ∂h_T/∂h_T, (B, H, H)
    products = [jacobian]
    for hidden in outputs.swapaxes(0, 1)[::-1]:  # h_T, …, h_1, each (B, H)
        # ∂h_T/∂h_{t-1} = ∂h_T/∂h_t ∂h_t/∂h_{t-1},  ∂h_t/∂h_{t-1} = diag(1 - h_t²) U
        jacobian = jacobian @ (tanh_slope(hidden)[:, :, None] * weights["hidden_state"])
        products.append(jacobian)
    return np.linalg.norm(np.stack(products[::-1], axis=1), ord=2, axis=(2, 3))


def clip_by_norm(gradients: Weights, limit: float) -> dict[str, Array]:
    """All gradients times min(1, limit / ‖g‖), where ‖g‖ is the norm of all of them as one vector.

    Some lectures print max(‖g‖, limit) / ‖g‖, which does the opposite: it keeps large gradients and
    stretches small ones.
    """
    norm = np.sqrt(sum(np.sum(gradient**2) for gradient in gradients.values()))
    factor = min(1.0, limit / norm) if norm > 0 else 1.0
    return {name: factor * gradient for name, gradient in gradients.items()}


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
    """The backward path through c multiplies only by f_t: open gates pass the gradient."""
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
