"""The engine: its deferred gradients, its assertion, empty sequences, no gradients."""

import pytest
import torch

from elman.cells.cell import Cell, Product, States, Step
from elman.cells.engine import run
from elman.cells.gru import GRU
from elman.cells.lstm import LSTM


class Every(Cell):
    """One product of each kind: with and without W, U and biases."""

    about = "for this test"

    def __init__(self) -> None:
        super().__init__(2, 3)
        self.products = {
            "full": Product(3, 3, 3, second_bias=True),
            "partial": Product(6, 3, 3),
            "input": Product(3, 3, 0, bias=False),
            "state": Product(3, 0, 3, bias=False),
            "constant": Product(3, 0, 0),
        }
        self.own_weights = {"scale": (3,)}

    def step(self, step: Step, state: States) -> States:
        (hidden,) = state
        fed, rest = step.product("partial", torch.tanh(hidden)).chunk(2, dim=1)
        new = step.product("full", hidden) + fed * rest + step.product("constant")
        new = new + step.product("input") * step.product("state", hidden * hidden)
        new = torch.tanh(new * step.weight("scale") + step.inputs.sum(1, keepdim=True))
        step.record(hidden=new)
        return (new,)


def naive(w: dict[str, torch.Tensor], inputs: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    outputs = []
    for x in inputs.unbind(1):
        full = x @ w["full_input"].t() + hidden @ w["full_state"].t()
        full = full + w["full_bias"] + w["full_state_bias"]
        recurrent = torch.tanh(hidden) @ w["partial_state"].t() + w["partial_bias"]
        fed = x @ w["partial_input"].t() + recurrent[:, :3]
        new = full + fed * recurrent[:, 3:] + w["constant_bias"]
        new = new + (x @ w["input_input"].t()) * ((hidden * hidden) @ w["state_state"].t())
        hidden = torch.tanh(new * w["scale"] + x.sum(1, keepdim=True))
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_deferred_gradient_equals_plain_autograd(build, reverse: bool) -> None:
    cell, weights = build(Every())
    inputs = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    start = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    ours = run(cell, weights, inputs, (start,), reverse=reverse).outputs
    theirs = naive(weights, inputs.flip(1) if reverse else inputs, start)
    theirs = theirs.flip(1) if reverse else theirs
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    leaves = [inputs, start, *weights.values()]
    scale = torch.linspace(-1, 1, ours.numel(), dtype=torch.float64).view_as(ours)
    pairs = zip(
        torch.autograd.grad((ours * scale).sum(), leaves),
        torch.autograd.grad((theirs * scale).sum(), leaves),
        strict=True,
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_only_some_weights_are_trained(build) -> None:
    cell, weights = build(Every())
    inputs = torch.randn(4, 5, 2, dtype=torch.float64)
    expected = torch.autograd.grad(run(cell, weights, inputs).outputs.sum(), weights["full_state"])
    for name in weights.keys() - {"full_state"}:
        weights[name] = weights[name].detach()
    found = torch.autograd.grad(run(cell, weights, inputs).outputs.sum(), weights["full_state"])
    torch.testing.assert_close(found, expected)


class Twice(Cell):
    """Breaks the rule."""

    about = "for this test"

    def __init__(self) -> None:
        super().__init__(2, 2)
        self.products = {"hidden": Product(2, 2, 2)}

    def step(self, step: Step, state: States) -> States:
        once = step.product("hidden", state[0])
        return (step.product("hidden", once),)


def test_a_product_twice_in_one_step_is_refused(build) -> None:
    cell, weights = build(Twice())
    with pytest.raises(AssertionError, match="'hidden' twice in one step"):
        run(cell, weights, torch.zeros(1, 2, 2, dtype=torch.float64))


class Wrong(Cell):
    """Steps with a mistake; its state is one vector of three numbers."""

    about = "for this test"

    def __init__(self, mistake: str) -> None:
        super().__init__(2, 3)
        self.mistake = mistake
        if mistake != "no products":
            self.products = {"hidden": Product(3, 3, 3)}

    def step(self, step: Step, state: States) -> States:
        if self.mistake == "weight":
            return (step.weight("scale"),)
        new = step.product("gates" if self.mistake == "product" else "hidden", state[0])
        mistakes = {"two": (new, new), "wide": (torch.cat([new, new], 1),), "bare": new}
        return mistakes[self.mistake]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("weight", r"Wrong has no weight 'scale' \(it defines: none\)"),
        ("product", r"Wrong has no product 'gates' \(it defines: hidden\)"),
        ("no products", r"Wrong has no product 'hidden' \(it defines: none\)"),
        ("two", r"Wrong.step returned \[\(4, 3\), \(4, 3\)\]: expected .* of \[\(4, 3\)\]"),
        ("wide", r"Wrong.step returned \[\(4, 6\)\]: expected .* of \[\(4, 3\)\]"),
        ("bare", r"Wrong.step returned Tensor: expected a tuple"),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_mistake_in_a_step_gets_one_clear_line(
    build, mistake: str, message: str, reverse: bool
) -> None:
    cell, weights = build(Wrong(mistake))
    with pytest.raises(ValueError, match=message):
        run(cell, weights, torch.zeros(4, 2, 2, dtype=torch.float64), reverse=reverse)


def test_no_time(build) -> None:
    cell, weights = build(LSTM(2, 3, projection=1))
    state = (torch.ones(4, 1), torch.ones(4, 3))
    result = run(cell, weights, torch.zeros(4, 0, 2), state, trace=True)
    assert result.outputs.shape == (4, 0, 1)
    assert result.state is state
    assert result.trace == {}
    assert run(cell, weights, torch.zeros(4, 0, 2), state).trace is None


def test_no_gradients(build) -> None:
    cell, weights = build(GRU(2, 3))
    inputs = torch.randn(4, 5, 2, dtype=torch.float64)
    expected = run(cell, weights, inputs)
    with torch.no_grad():
        result = run(cell, weights, inputs)
    assert expected.outputs.requires_grad
    assert not result.outputs.requires_grad
    assert not result.state[0].requires_grad
    assert torch.equal(result.outputs, expected.outputs)


def test_fusing_waits_for_three_steps_no_padding_and_no_trace(build, monkeypatch) -> None:
    cell, weights = build(LSTM(2, 3))
    calls = []
    monkeypatch.setattr(LSTM, "fused", lambda self, inputs, *_: calls.append(inputs.shape[1]))
    for time in (1, 2, 3):
        run(cell, weights, torch.zeros(4, time, 2, dtype=torch.float64))
    three = torch.zeros(4, 3, 2, dtype=torch.float64)
    run(cell, weights, three, lengths=torch.tensor([3, 3, 2, 3]))
    run(cell, weights, three, trace=True)
    run(cell, weights, three, fuse=False)
    assert calls == [3]
    run(cell, weights, three, lengths=torch.full((4,), 3))
    assert calls == [3, 3]


@pytest.mark.parametrize("cell", [LSTM(2, 3), GRU(2, 3)], ids=["lstm", "gru"])
def test_wrong_shapes_are_refused_before_a_kernel_sees_them(build, cell: Cell) -> None:
    _, weights = build(cell)
    inputs = torch.zeros(4, 5, 2, dtype=torch.float64)
    rows = 4 if isinstance(cell, LSTM) else 2
    lacking = {name: weight for name, weight in weights.items() if name != "gates_bias"}
    wrong = weights | {"gates_state": weights["gates_state"][:-1]}
    state = tuple(torch.zeros(3, 3) for _ in cell.state_sizes)
    with pytest.raises(ValueError, match=rf"weights lack 'gates_bias', of shape \({3 * rows},\)"):
        run(cell, lacking, inputs)
    message = rf"'gates_state' of shape \({3 * rows - 1}, 3\): expected \({3 * rows}, 3\)"
    with pytest.raises(ValueError, match=message):
        run(cell, wrong, inputs)
    with pytest.raises(ValueError, match=r"inputs of shape \(4, 5, 1\)"):
        run(cell, weights, inputs[:, :, :1])
    with pytest.raises(ValueError, match=r"state of shapes \[\(3, 3\)"):
        run(cell, weights, inputs, state)


def test_a_second_derivative_is_refused_not_wrong(build) -> None:
    cell, weights = build(Every())
    outputs = run(cell, weights, torch.randn(4, 5, 2, dtype=torch.float64)).outputs
    leaf = weights["full_state"]
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(outputs.square().sum(), leaf, create_graph=True)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_outputs_alone_come_in_one_call_whatever_the_lengths(
    build, kind, reverse: bool, monkeypatch
) -> None:
    cell, weights = build(kind(2, 3))
    inputs = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 1, 3, 4])
    slowly = run(cell, weights, inputs, lengths=lengths, reverse=reverse).outputs
    expected = torch.autograd.grad(slowly.square().sum(), [inputs, *weights.values()])
    monkeypatch.setattr(kind, "step", None)  # so that only the fused way is left
    fast = run(cell, weights, inputs, lengths=lengths, reverse=reverse, outputs_only=True)
    torch.testing.assert_close(fast.outputs, slowly)
    assert float(fast.outputs.detach()[1, 1:].abs().sum()) == 0
    found = torch.autograd.grad(fast.outputs.square().sum(), [inputs, *weights.values()])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
