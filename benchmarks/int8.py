"""What eight-bit weights cost in perplexity when stepping, and what they save in time.

    python benchmarks/int8.py

Trains a small LSTM language model on the built-in python-docs for a minute, then reads the test
text token by token with float32 and with eight-bit weights. A measurement, not a model to keep:
training proper is not here.
"""

import time
from itertools import pairwise

import torch

from elman.cells.lstm import LSTM
from elman.cells.stepping import Stepper, linear
from elman.layers.dropout import locked_dropout
from elman.layers.recurrent import Recurrent
from elman.text.corpora import open_corpus
from elman.text.raw_words import RawWords
from elman.text.tokenizer import TextConfig

SIZE, BATCH, WINDOW, EPOCHS = 200, 20, 35, 8


def main() -> None:
    torch.manual_seed(0)
    corpus = open_corpus("python-docs")
    tokenizer, ids = RawWords.learn(corpus.split("train").text, TextConfig())
    test = torch.from_numpy(tokenizer.encode(corpus.split("test").text))
    model = torch.nn.ModuleDict(
        {
            "words": torch.nn.Embedding(len(tokenizer), SIZE),
            "first": Recurrent(LSTM(SIZE, SIZE)),
            "second": Recurrent(LSTM(SIZE, SIZE)),
            "output": torch.nn.Linear(SIZE, len(tokenizer)),
        }
    )
    started = time.perf_counter()
    train(model, torch.from_numpy(ids))
    print(
        f"2 x {SIZE} LSTM, {len(tokenizer):,} tokens in the vocabulary, "
        f"trained for {time.perf_counter() - started:.0f} s"
    )
    exact, seconds = evaluate(model, test, int8=False)
    print(f"  float32  perplexity {exact:.3f}   {seconds / len(test) * 1e3:.2f} ms per token")
    near, seconds = evaluate(model, test, int8=True)
    print(
        f"  int8     perplexity {near:.3f}   {seconds / len(test) * 1e3:.2f} ms per token   "
        f"{(near / exact - 1) * 100:+.3f} %"
    )


def train(model: torch.nn.ModuleDict, ids: torch.Tensor) -> None:
    columns = ids[: len(ids) // BATCH * BATCH].view(BATCH, -1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(EPOCHS):
        states = [None, None]
        for start in range(0, columns.shape[1] - 1, WINDOW):
            targets = columns[:, start + 1 : start + 1 + WINDOW]
            values = model["words"](columns[:, start : start + targets.shape[1]])
            for layer, name in enumerate(("first", "second")):
                done = model[name](locked_dropout(values, 0.3, True), states[layer])
                values, states[layer] = done.outputs, tuple(s.detach() for s in done.state)
            logits = model["output"](locked_dropout(values, 0.3, True))
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


@torch.inference_mode()
def evaluate(model: torch.nn.ModuleDict, ids: torch.Tensor, *, int8: bool) -> tuple[float, float]:
    """Perplexity and seconds of reading ids one by one."""
    layers = [model[name] for name in ("first", "second")]
    steppers = [Stepper(layer.cell, layer.own_weights(), int8=int8) for layer in layers]
    output = linear(model["output"].weight, model["output"].bias, int8)
    states = [stepper.cell.start(1, model["output"].weight) for stepper in steppers]
    nats, started = 0.0, time.perf_counter()
    for current, following in pairwise(ids):
        values = model["words"](current.view(1))
        for layer, stepper in enumerate(steppers):
            states[layer] = stepper.step(values, states[layer])
            values = states[layer][0]
        nats -= float(torch.log_softmax(output(values)[0], 0)[following])
    seconds = time.perf_counter() - started
    return float(torch.tensor(nats / (len(ids) - 1)).exp()), seconds


if __name__ == "__main__":
    main()
