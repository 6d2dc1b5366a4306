"""Eight-bit weights: the speed of single steps, and the effect of rounding on perplexity.

    python benchmarks/int8.py --data PENN_TREEBANK --run /tmp/int8-run

Speed: steps of a two-layer LSTM with an output of 10,000 words, for several widths and numbers of
rows. Three versions take turns: elman with eight bits, elman in float32, and a plain loop over
`nn.LSTM` and `nn.Linear`. Perplexity: a 2 x 650 run, trained for a part of an epoch, reads a text
token by token with float32 and with eight-bit weights. The trained run stays in --run: the next
call reuses it, and continues it if it was interrupted. --skip-perplexity measures only speed. On a
busy machine, --threads 1 --processor-time excludes the time that other programs take.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

import elman
from elman.cells.lstm import LSTM
from elman.cells.stepping import Stepper, Way, linear
from elman.tasks.language_modelling.quantising import quantise
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load, resume

WORDS = 10_000
Step = Callable[[], None]


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.processor_time else time.perf_counter
    print(
        f"torch {torch.__version__}, threads: {options.threads}, {clock.__name__}; "
        "ms per step, median (range)"
    )
    for size in options.sizes:
        for rows in options.rows:
            measure_speed(size, rows, options.turns, options.steps, clock)
    if not options.skip_perplexity:
        measure_perplexity(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="python-docs", help="the dataset to train on")
    parser.add_argument("--run", type=Path, help="the run folder; default: a temporary one")
    parser.add_argument("--recipe", default="zaremba-medium")
    parser.add_argument("--epochs", type=float, default=0.25)
    parser.add_argument("--tokens", type=int, default=2000, help="number of tokens to read")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 650, 1150, 1500])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps per turn")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--processor-time", action="store_true", help="not wall-clock time")
    parser.add_argument("--skip-perplexity", action="store_true")
    return parser.parse_args()


# Speed --------------------------------------------------------------------------------------------


@torch.inference_mode()
def measure_speed(size: int, rows: int, turns: int, steps: int, clock: Callable[[], float]) -> None:
    """Measure the three versions in turns, so that other programs affect all of them equally."""
    torch.manual_seed(0)
    ways = {
        "int8": _stepping(size, rows, "int8"),
        "float32": _stepping(size, rows, "one" if rows == 1 else "several"),
        "nn.LSTM": _plain(size, rows),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for step in ways.values():
        step()
    for _ in range(turns):
        for name, step in ways.items():
            started = clock()
            for _ in range(steps):
                step()
            taken[name].append((clock() - started) / steps * 1e3)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    shown = "   ".join(
        f"{name} {medians[name]:.2f} ({min(each):.2f}-{max(each):.2f})"
        for name, each in taken.items()
    )
    against_float, against_plain = (
        medians[name] / medians["int8"] for name in ("float32", "nn.LSTM")
    )
    print(
        f"2 x {size}, {rows:2d} rows: {shown}   int8 is {against_float:.1f} x as fast as float32, "
        f"{against_plain:.1f} x as fast as nn.LSTM",
        flush=True,
    )


def _stepping(size: int, rows: int, way: Way) -> Step:
    cell = LSTM(size, size)
    shapes = cell.shapes().items()
    steppers = [
        Stepper(cell, {name: 0.05 * torch.randn(shape) for name, shape in shapes}, way)
        for _ in range(2)
    ]
    output = linear(0.05 * torch.randn(WORDS, size), torch.zeros(WORDS), way)
    inputs = torch.randn(rows, size)
    states = [cell.start(rows, inputs) for _ in steppers]

    def step() -> None:
        values = inputs
        for layer, stepper in enumerate(steppers):
            states[layer] = stepper.step(values, states[layer])
            values = states[layer][0]
        output(values)

    return step


def _plain(size: int, rows: int) -> Step:
    layers, output = torch.nn.LSTM(size, size, 2, batch_first=True), torch.nn.Linear(size, WORDS)
    inputs = torch.randn(rows, 1, size)
    state = [torch.zeros(2, rows, size), torch.zeros(2, rows, size)]

    def step() -> None:
        values, state[:] = layers(inputs, tuple(state))
        output(values[:, 0])

    return step


# Perplexity ---------------------------------------------------------------------------------------


def measure_perplexity(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        run = options.run or Path(temporary) / "run"
        trained = _trained(run, options)
        quantise(trained, Path(temporary) / "int8")
        ids = trained.tokenizer.encode(trained.open(options.data).split("test").text)
        text = torch.from_numpy(ids[: options.tokens]).view(1, -1)
        exact = _perplexity(load(run), text)
        near = _perplexity(load(Path(temporary) / "int8"), text)
    print(
        f"{options.recipe}, {trained.facts['training']['epochs']} epochs of {options.data}, "
        f"{text.shape[1]:,} tokens of the test text, token by token:\n"
        f"  float32 {exact:.3f}   int8 {near:.3f}   {(near / exact - 1) * 100:+.3f} %"
    )


def _trained(run: Path, options: argparse.Namespace) -> TrainedModel:
    """Load the run, after finishing it if it was interrupted; train a new one if it is missing."""
    if not run.exists():
        elman.train(
            options.recipe,
            data=options.data,
            out=run,
            overrides=[f"training.epochs={options.epochs}", "training.save_minutes=1"],
        )
    elif not load(run).facts["training"]["finished"]:
        resume(run)
    return load(run)


@torch.inference_mode()
def _perplexity(trained: TrainedModel, ids: torch.Tensor) -> float:
    """The perplexity of ids (1, T), read in single steps as in generation."""
    model, nats = trained.model, 0.0
    state = model.start(1)
    for t in range(ids.shape[1]):
        nats -= float(model.predict(state)[0, ids[0, t]])
        state = model.read(ids[:, t : t + 1], state)
    return float(torch.tensor(nats / ids.shape[1]).exp())


if __name__ == "__main__":
    main()
