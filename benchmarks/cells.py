"""Measure the speed of the cells, relative to the limit of the machine and to other libraries.

    python benchmarks/cells.py [--quick] [--threads N]

GFLOP/s count the matrix products of one layer, forward and backward (six operations per weight,
token and row), over T = 35 steps. The limit is the speed of a large matrix product, in the library
that is fastest here. Times are the best of several turns, and ratios compare turns of the same run.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable

import torch

from elman.cells import CELLS
from elman.cells.engine import run
from elman.cells.lstm import LSTM
from elman.cells.stepping import Stepper, linear
from elman.layers.dropout import locked_dropout, weight_drop
from elman.matrix_products import multiply

TIME = 35


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only hidden size 650 and batch 20")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"{platform.machine()}, threads: {given.threads}, torch {torch.__version__}")
    sizes = [(650, 20)] if given.quick else [(h, b) for b in (20, 64) for h in (200, 650, 1150)]
    for hidden_size, batch_size in sizes:
        sequences(hidden_size, batch_size)
    regularised(650, 20)
    stepping(650, 10_000)


def fastest(*works: Callable[[], object], seconds: float = 2.0) -> list[float]:
    """The fastest time of each function; they take turns, so all see the same machine load."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    while len(times[0]) < 7 or sum(map(sum, times)) < seconds * len(works):
        for work, taken in zip(works, times, strict=True):
            started = time.perf_counter()
            work()
            taken.append(time.perf_counter() - started)
    return [min(taken) for taken in times]


def limit() -> float:
    """GFLOP/s of a large matrix product."""
    matrix = torch.randn(2048, 2048)
    return 2 * 2048**3 / fastest(lambda: multiply(matrix, matrix), seconds=0.5)[0] / 1e9


def fresh(cell) -> dict[str, torch.Tensor]:
    """New weights of a cell that require gradients."""
    weights = {name: torch.empty(shape) for name, shape in cell.shapes().items()}
    cell.initialise(weights)
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def flops(cell, batch_size: int) -> int:
    """Operations of all matrices of a cell: multiply and add, once forward and twice backward."""
    entries = sum(shape[0] * shape[1] for shape in cell.shapes().values() if len(shape) == 2)
    return 6 * entries * batch_size * TIME


def forward_and_backward(call, inputs: torch.Tensor, weights) -> Callable[[], None]:
    gradient = torch.randn(*inputs.shape[:2], call().shape[2])

    def work() -> None:
        inputs.grad = None
        for weight in weights:
            weight.grad = None
        call().backward(gradient)

    return work


def sequences(hidden_size: int, batch_size: int) -> None:
    top = limit()
    print(f"\nH = {hidden_size}, B = {batch_size}, T = {TIME}; limit {top:.0f} GFLOP/s")
    print("  cell          GFLOP/s   of the limit   peer GFLOP/s   ratio to peer")
    for name, cls in CELLS.items():
        cell = cls(hidden_size, hidden_size)
        weights = fresh(cell)
        inputs = torch.randn(batch_size, TIME, hidden_size, requires_grad=True)

        def ours(cell=cell, weights=weights, inputs=inputs):
            return run(cell, weights, inputs).outputs

        works = [forward_and_backward(ours, inputs, weights.values())]
        peer = peer_of(name, hidden_size)
        if peer is not None:

            def theirs(peer=peer, inputs=inputs):
                return peer(inputs)

            works.append(forward_and_backward(theirs, inputs, list(peer.parameters())))
        rates = [flops(cell, batch_size) / taken / 1e9 for taken in fastest(*works)]
        compared = f"{rates[1]:13.1f}   {rates[0] / rates[1]:13.2f}" if peer is not None else ""
        print(f"  {name:12} {rates[0]:8.1f}   {rates[0] / top:12.2f}   {compared}")


def peer_of(name: str, size: int) -> torch.nn.Module | None:
    """The same cell in another library, batch first; None if there is none."""
    kinds = {"elman": torch.nn.RNN, "lstm": torch.nn.LSTM, "torch-gru": torch.nn.GRU}
    kinds["gru"] = torch.nn.GRU  # the closest variant
    if name in kinds:
        return _First(kinds[name](size, size, batch_first=True))
    try:
        import torchrecurrent
    except ImportError:
        return None
    theirs = {"mut1": "MUT1", "mut2": "MUT2", "mut3": "MUT3", "nas": "NAS"}
    if name not in theirs:
        return None
    return _First(getattr(torchrecurrent, theirs[name])(size, size, batch_first=True))


class _First(torch.nn.Module):
    """Wraps a module that returns (outputs, state), and returns only the outputs."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.module(inputs)[0]


def regularised(hidden_size: int, batch_size: int) -> None:
    print(f"\nlocked dropout and weight-drop, LSTM, H = {hidden_size}, B = {batch_size}")
    cell = LSTM(hidden_size, hidden_size)
    weights = fresh(cell)
    inputs = torch.randn(batch_size, TIME, hidden_size, requires_grad=True)

    def plain() -> torch.Tensor:
        return run(cell, weights, inputs).outputs

    def dropped() -> torch.Tensor:
        masked = {**weights, "gates_state": weight_drop(weights["gates_state"], 0.5, True)}
        outputs = run(cell, masked, locked_dropout(inputs, 0.4, True)).outputs
        return locked_dropout(outputs, 0.4, True)

    without, with_both = fastest(
        forward_and_backward(plain, inputs, weights.values()),
        forward_and_backward(dropped, inputs, weights.values()),
    )
    more = (with_both / without - 1) * 100
    print(f"  plain {without * 1e3:.1f} ms, with both {with_both * 1e3:.1f} ms: {more:+.1f} %")


def stepping(hidden_size: int, vocabulary_size: int, tokens: int = 100) -> None:
    print(
        f"\ngenerating at batch 1: 2 x {hidden_size} LSTM, {vocabulary_size:,} outputs, per token"
    )
    words = torch.nn.Embedding(vocabulary_size, hidden_size)
    module = torch.nn.LSTM(hidden_size, hidden_size, 2, batch_first=True).eval()
    output = torch.nn.Linear(hidden_size, vocabulary_size)

    def usual() -> None:
        state, word = None, torch.zeros(1, 1, dtype=torch.long)
        for _ in range(tokens):
            outputs, state = module(words(word), state)
            word = output(outputs[:, -1]).argmax(1, keepdim=True)

    def ours(int8: bool) -> Callable[[], None]:
        steppers = [_stepper(module, layer, int8) for layer in (0, 1)]
        last = linear(output.weight, output.bias, int8)

        def generate() -> None:
            word = torch.zeros(1, dtype=torch.long)
            states = [(torch.zeros(1, hidden_size), torch.zeros(1, hidden_size))] * 2
            for _ in range(tokens):
                values = words(word)
                for layer, stepper in enumerate(steppers):
                    states[layer] = stepper.step(values, states[layer])
                    values = states[layer][0]
                word = last(values).argmax(1)

        return generate

    with torch.inference_mode():
        theirs, float32, eight = fastest(usual, ours(False), ours(True))
    print(f"  nn.LSTM + nn.Linear   {theirs / tokens * 1e3:6.2f} ms")
    print(
        f"  elman, float32        {float32 / tokens * 1e3:6.2f} ms   {theirs / float32:5.1f} times"
    )
    print(f"  elman, int8           {eight / tokens * 1e3:6.2f} ms   {theirs / eight:5.1f} times")


def _stepper(module: torch.nn.LSTM, layer: int, int8: bool) -> Stepper:
    cell = LSTM(module.input_size, module.hidden_size, second_bias=True)
    names = {
        "gates_input": "weight_ih",
        "gates_state": "weight_hh",
        "gates_bias": "bias_ih",
        "gates_state_bias": "bias_hh",
    }
    weights = {ours: getattr(module, f"{theirs}_l{layer}") for ours, theirs in names.items()}
    return Stepper(cell, weights, "int8" if int8 else "one")


if __name__ == "__main__":
    main()
