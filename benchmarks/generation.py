"""Generate text: elman against a tutorial's loop around PyTorch modules, in one process.

    python benchmarks/generation.py [--units 128 650] [--streams 1 8 64] [--server]

The models have two LSTM layers, an output of 10,000 words and random weights; the frequencies of
words follow Zipf's law. Both versions embed the last words, run two layers, draw from the softmax,
and build the text:

    elman        `model.generate`, with everything that it checks and returns
    nn.LSTM      `nn.Embedding`, `nn.LSTM`, `nn.Linear`, `softmax`, `multinomial`
    nn.LSTMCell  the same with two `nn.LSTMCell`, which is faster for single steps

They take turns; tokens per second of processor time, medians of many short turns. The ratio is that
of elman to the faster loop. `--server` adds `elman serve`: as many clients as streams, each asking
for one text; processor time of the whole server, HTTP included.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import server  # benchmarks/server.py
import torch
from torch import nn

from elman.models.recurrent import RecurrentModel
from elman.recipes import load_recipe
from elman.tasks.language_modelling.task import LanguageModelling
from elman.tasks.language_modelling.trained import TrainedModel
from elman.tasks.task import load
from elman.text.words import Words

WORDS = 10_000
SETTINGS: dict[str, dict[str, float]] = {
    "temperature 0.8": {"temperature": 0.8},
    "top-p 0.9": {"top_p": 0.9},
}
Way = Callable[[], Any]


def main() -> None:
    given = _options()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, {given.turns} turns of {given.tokens} tokens")
    names = ["units", "streams", "options", "elman", "nn.LSTM", "nn.LSTMCell", "ratio"]
    names += ["server", "server / elman"] if given.server else []
    print(f"| {' | '.join(names)} |\n|{'---:|' * len(names)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for units in given.units:
            run = Path(folder) / f"two-by-{units}"
            build(units).save(run)
            measure_model(run, units, given)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", type=int, nargs="+", default=[128, 650])
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=[*SETTINGS])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=100, help="tokens of a text")
    parser.add_argument("--server", action="store_true", help="also measure `elman serve`")
    return parser.parse_args()


def build(units: int) -> TrainedModel:
    """A network with random weights; the bias of its output follows Zipf's law."""
    tokenizer = Words(["<eos>", "<unk>", *(f"w{number}" for number in range(WORDS - 2))])
    sizes = [f"model.hidden_size={units}", f"model.embedding_size={units}", "model.num_layers=2"]
    config = load_recipe("quick", sizes, 0)
    counts = (1_000_000 / np.arange(1, WORDS + 1)).astype(np.int64)
    torch.manual_seed(0)
    ids = np.repeat(np.arange(WORDS), counts)
    model = RecurrentModel.build(config.model, ids, tokenizer.tokens, 0)
    facts = {"data": {"name": "none", "sha256": {}}, "model": model.facts(), "validation": None}
    return TrainedModel(LanguageModelling(config, tokenizer), model, facts)


def measure_model(run: Path, units: int, given: argparse.Namespace) -> None:
    trained = load(run)
    for streams in given.streams:
        for setting in given.settings:
            options = SETTINGS[setting]
            ways = {
                "elman": _elman(trained, streams, given.tokens, options),
                "nn.LSTM": _plain(trained, units, streams, given.tokens, options),
                "nn.LSTMCell": _plain(trained, units, streams, given.tokens, options, cells=True),
            }
            speeds, ratio = _take_turns(ways, given.turns, streams * given.tokens)
            row = [str(units), str(streams), setting]
            row += [f"{speeds[name]:,.0f}" for name in ways] + [f"{ratio:.2f}"]
            if given.server:
                served = asyncio.run(_measure_server(run, streams, given, options))
                row += [f"{served:,.0f}", f"{served / speeds['elman']:.2f}"]
            print(f"| {' | '.join(row)} |", flush=True)


def _take_turns(ways: dict[str, Way], turns: int, tokens: int) -> tuple[dict[str, float], float]:
    """Tokens per processor second of each version, and the ratio of elman to the best other."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(turns):
        for name, way in ways.items():
            started = time.process_time()
            way()
            taken[name].append(time.process_time() - started)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    others = min((name for name in ways if name != "elman"), key=lambda name: medians[name])
    pairs = zip(taken["elman"], taken[others], strict=True)
    ratio = statistics.median(other / own for own, other in pairs)
    return {name: tokens / seconds for name, seconds in medians.items()}, ratio


def _elman(trained: TrainedModel, streams: int, tokens: int, options: dict[str, float]) -> Way:
    settings: dict[str, Any] = {"samples": streams, "max_tokens": tokens, **options}
    return lambda: trained.generate("w1 w2 w3", **settings)


# The tutorial's loop ------------------------------------------------------------------------------


class PlainModel(nn.Module):
    """Embedding, two LSTM layers, a linear output."""

    def __init__(self, units: int, *, cells: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, units)
        self.cells = nn.ModuleList(nn.LSTMCell(units, units) for _ in range(2)) if cells else None
        self.lstm = None if cells else nn.LSTM(units, units, 2, batch_first=True)
        self.output = nn.Linear(units, WORDS)

    def forward(self, ids: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        """Logits (B, V) after ids (B,), and the new state."""
        values = self.embedding(ids)
        if self.cells is None:
            assert self.lstm is not None
            outputs, state = self.lstm(values[:, None], state)
            return self.output(outputs[:, 0]), state
        after = []
        for number, cell in enumerate(self.cells):
            after.append(cell(values, None if state is None else state[number]))
            values = after[-1][0]
        return self.output(values), after


def _plain(
    trained: TrainedModel,
    units: int,
    streams: int,
    tokens: int,
    options: dict[str, float],
    *,
    cells: bool = False,
) -> Way:
    model = PlainModel(units, cells=cells).eval()
    with torch.no_grad():  # the same distribution: its shape decides how much top-p keeps
        model.output.bias.copy_(trained.model.output.bias)
        model.output.weight.uniform_(-0.1, 0.1)
    words = trained.tokenizer.tokens

    def write() -> list[str]:
        texts: list[list[str]] = [[] for _ in range(streams)]
        with torch.inference_mode():
            ids, state = torch.ones(streams, dtype=torch.long), None
            for _ in range(tokens):
                logits, state = model(ids, state)
                ids = _draw(logits, **options)
                for text, number in zip(texts, ids.tolist(), strict=True):
                    text.append(words[number])
        return [" ".join(text) for text in texts]

    return write


def _draw(logits: torch.Tensor, temperature: float = 1.0, top_p: float = 1.0) -> torch.Tensor:
    """One id per row."""
    probabilities = torch.softmax(logits / temperature, dim=-1)
    if top_p == 1.0:
        return torch.multinomial(probabilities, num_samples=1).squeeze(1)
    ranked, order = torch.sort(probabilities, dim=-1, descending=True)
    before = torch.cumsum(ranked, dim=-1) - ranked
    ranked[before > top_p] = 0.0
    places = torch.multinomial(ranked, num_samples=1)
    return torch.gather(order, -1, places).squeeze(1)


# The server ---------------------------------------------------------------------------------------


async def _measure_server(
    run: Path, streams: int, given: argparse.Namespace, options: dict[str, float]
) -> float:
    """Tokens per processor second of the server, median over the turns."""
    limits = httpx2.Limits(max_connections=streams, max_keepalive_connections=streams)
    asked = {"prompt": "w1 w2 w3", "max_tokens": given.tokens, **options}
    speeds = []
    with server.Server(str(run), "--threads", "1") as running:
        address = running.address
        async with httpx2.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
            await server.until_up(client)
            for turn in range(given.turns + 1):
                before = running.cpu_seconds()
                answers = await asyncio.gather(
                    *(
                        client.post("/v1/completions", json={**asked, "seed": turn * 1000 + number})
                        for number in range(streams)
                    )
                )
                assert {answer.status_code for answer in answers} == {200}, answers
                tokens = sum(answer.json()["usage"]["completion_tokens"] for answer in answers)
                speeds.append(tokens / (running.cpu_seconds() - before))
    return statistics.median(speeds[1:])


if __name__ == "__main__":
    main()
