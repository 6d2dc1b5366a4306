"""Measure the server: throughput, memory, and cancelled requests.

    python benchmarks/server.py [--clients 64] [--requests 2000] [--leavers 200]

Serves a 2 × 200 network over 10,000 words with random weights (the text does not matter) in its own
process, and measures in one run:

    one by one     one request at a time, 32 tokens each
    at once        many clients, each sending its requests one after the other; counts status 429
    memory         resident memory of the server over many requests
    leavers        clients that disconnect during a stream: how long until their rows are free
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2

TOKENS = 32
WORDS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--leavers", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder) / "two-by-200")
        with Server(str(Path(folder) / "two-by-200")) as server:
            print(json.dumps(asyncio.run(measure(server, given)), indent=1))


def save_model(path: Path) -> None:
    """Save a 2 × 200 network with random weights as a run."""
    # Imported here, so that `guard.py` can use the rest of this file with any version of elman.
    import torch

    from elman.models.recurrent import RecurrentConfig, RecurrentModel
    from elman.recipes import load_recipe
    from elman.tasks.language_modelling.task import LanguageModelling
    from elman.tasks.language_modelling.trained import TrainedModel
    from elman.text.words import Words

    tokenizer = Words(["<eos>", "<unk>", *(f"w{number}" for number in range(WORDS - 2))])
    config = load_recipe("quick", ["model.hidden_size=200", "model.embedding_size=200"], 0)
    settings: RecurrentConfig = config.model
    ids = torch.arange(WORDS).numpy()
    model = RecurrentModel.build(settings, ids, tokenizer.tokens, 0)
    facts = {"data": {"name": "none", "sha256": {}}, "model": model.facts(), "validation": None}
    TrainedModel(LanguageModelling(config, tokenizer), model, facts).save(path)


class Server:
    """`elman serve` in its own process."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "elman", "serve", *arguments, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.address = ""
        for line in self.process.stderr:
            if line.startswith("http"):
                self.address = line.split("/ ")[0]
                return
        raise SystemExit("the server did not start")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)  # also closes the pipe

    def resident_megabytes(self) -> float:
        """The resident memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_seconds(self) -> float:
        """Processor time that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # user and system


async def measure(server: Server, given: argparse.Namespace) -> dict[str, Any]:
    limits = httpx2.Limits(max_connections=given.clients, max_keepalive_connections=given.clients)
    async with httpx2.AsyncClient(base_url=server.address, timeout=300, limits=limits) as client:
        await until_up(client)
        await ask(client, 0)
        single, alone = await one_by_one(client, count=24)
        several, among = await at_once(client, given.clients, each=3)
        memory = await over_requests(server, client, given.clients, given.requests)
        gone = await leavers(server, client, given.leavers)
    return {
        "one by one": single,
        "at once": several,
        "same texts": sum(among[seed] == text for seed, text in alone.items()),
        "times faster": several["tokens per second"] / single["tokens per second"],
        "memory": memory,
        "leavers": gone,
    }


async def until_up(client: httpx2.AsyncClient) -> None:
    for _ in range(600):
        try:
            await client.get("/health")
            return
        except httpx2.TransportError:
            await asyncio.sleep(0.1)


async def ask(client: httpx2.AsyncClient, seed: int, tokens: int = TOKENS) -> tuple[int, str]:
    """Send a request; returns status and text, in which every token is a word."""
    prompt = " ".join(f"w{(seed * 7 + place) % 9000}" for place in range(8))
    asked = {"prompt": prompt, "max_tokens": tokens, "seed": seed}
    response = await client.post("/v1/completions", json=asked)
    data = response.json()
    return response.status_code, data["choices"][0]["text"] if "choices" in data else ""


Measured = tuple[dict[str, Any], dict[int, str]]  # figures, and texts by seed


async def one_by_one(client: httpx2.AsyncClient, count: int) -> Measured:
    started = time.perf_counter()
    return summary({seed: await ask(client, seed) for seed in range(count)}, started)


async def at_once(client: httpx2.AsyncClient, clients: int, each: int) -> Measured:
    async def one(number: int) -> dict[int, tuple[int, str]]:
        seeds = range(number * each, (number + 1) * each)
        return {seed: await ask(client, seed) for seed in seeds}

    started = time.perf_counter()
    parts = await asyncio.gather(*map(one, range(clients)))
    return summary({seed: answer for part in parts for seed, answer in part.items()}, started)


def summary(answers: dict[int, tuple[int, str]], started: float) -> Measured:
    seconds = time.perf_counter() - started
    tokens = sum(TOKENS for status, _ in answers.values() if status == 200)
    figures = {
        "seconds": round(seconds, 2),
        "tokens per second": round(tokens / seconds, 1),
        "answers": dict(Counter(status for status, _ in answers.values())),
    }
    return figures, {seed: text for seed, (_, text) in answers.items()}


async def over_requests(
    server: Server, client: httpx2.AsyncClient, clients: int, requests: int
) -> dict[str, Any]:
    """Resident memory after each tenth of the requests, of a few tokens each."""
    sizes, turn = [server.resident_megabytes()], 0
    share = max(requests // 10, 1)
    for _ in range(10):
        for first in range(0, share, clients):
            wave = range(turn + first, turn + min(first + clients, share))
            await asyncio.gather(*(ask(client, seed, tokens=4) for seed in wave))
        turn += share
        sizes.append(server.resident_megabytes())
    return {"requests": turn, "megabytes": [round(size, 1) for size in sizes]}


async def leavers(server: Server, client: httpx2.AsyncClient, count: int) -> dict[str, Any]:
    """Open streams, close each after its first piece, and measure until the last row is free."""
    slowest = 0.0
    for first in range(0, count, 50):
        await asyncio.gather(*(leave(server.address) for _ in range(min(50, count - first))))
        started = time.perf_counter()
        while True:
            state = (await client.get("/health")).json()["models"]["two-by-200"]
            if not any(state.values()):
                break
            await asyncio.sleep(0.01)
        slowest = max(slowest, time.perf_counter() - started)
    return {"clients": count, "slowest seconds until free": round(slowest, 3)}


async def leave(address: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps({"prompt": "w1 w2", "max_tokens": 1000, "stream": True})
    writer.write(
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    await reader.readuntil(b"data: ")
    writer.transport.abort()


if __name__ == "__main__":
    main()
