"""Test the server under ten times its load, and under signals during streams.

    python benchmarks/torture_server.py overload [--minutes 10] [--times 10]
    python benchmarks/torture_server.py stop [--rounds 20] [--streams 64]

Serves a 2 × 200 network over 10,000 words with random weights, in its own process. Prints a table
on standard error and the counts as JSON on standard output. Exit code 1 if a promise is broken.

    overload   measures how many requests per second the server finishes, then sends ten times as
               many, at random times that do not depend on the answers. Promised: no 5xx, no broken
               connection, 99 of 100 refusals (429) within 0.2 s, constant memory.
    stop       opens streams, half of them endless, and sends SIGTERM at a random time. Promised:
               every stream ends with [DONE] or an error event; new requests get 503; exit code 0,
               in time.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server import Server, save_model

TOKENS = 64
SLOWEST_REFUSAL = 0.2  # seconds, for 99 of 100
GROWTH = 1.05  # of resident memory, from the middle third to the last third
GRACES = (0.0, 0.5, 2.0, 10.0)  # seconds; the rounds take them in turn
ENDLESS = 10_000_000  # tokens
LATE = 10.0  # seconds that a stop may take after its grace period


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["overload", "stop"])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--times", type=float, default=10.0, help="load, relative to the capacity")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "two-by-200")
        save_model(Path(run))
        found = overload(run, given) if given.what == "overload" else stop(run, given)
    for name, value in found.items():
        print(f"{name:36} {value}", file=sys.stderr)
    print(json.dumps(found, indent=1))
    sys.exit(0 if found["kept"] else 1)


# Overload ---------------------------------------------------------------------------------------


@dataclass
class Seen:
    """Status and duration of the requests."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    late: list[float] = field(default_factory=list)  # how late the client sent its requests

    def add(self, status: str, seconds: float) -> None:
        self.seconds.setdefault(status, []).append(seconds)

    def counts(self) -> dict[str, int]:
        return {status: len(times) for status, times in sorted(self.seconds.items())}


class Clients:
    """Connections that are reused."""

    def __init__(self, address: str) -> None:
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port = int(port)
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, seed: int, seen: Seen) -> None:
        """Send one request."""
        started = time.perf_counter()
        try:
            status = await asyncio.wait_for(self._ask(seed), timeout=200)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            status = type(error).__name__
        seen.add(status, time.perf_counter() - started)

    async def _ask(self, seed: int) -> str:
        prompt = " ".join(f"w{(seed * 7 + place) % 9000}" for place in range(8))
        request = request_bytes(self.host, self.port, prompt=prompt, max_tokens=TOKENS, seed=seed)
        while True:
            is_kept = bool(self._free)
            reader, writer = self._free.pop() if is_kept else await self._connect()
            try:
                writer.write(request)
                status, keep = await read_response(reader)
                break
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()
                if not is_kept:
                    raise  # a reused connection may have been idle for too long
        if keep:
            self._free.append((reader, writer))
        else:
            writer.close()
        return status

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port)


def request_bytes(host: str, port: int, **asked: Any) -> bytes:
    body = json.dumps(asked)
    return (
        f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def read_response(reader: asyncio.StreamReader) -> tuple[str, bool]:
    """The status, and whether the connection can be reused."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length:")[2].partition("\r\n")[0])
    await reader.readexactly(length)
    return head.split(" ", 2)[1], "connection: close" not in head


def overload(run: str, given: argparse.Namespace) -> dict[str, Any]:
    with Server(run, "--threads", "1") as server:
        return asyncio.run(_overload(server, given))


async def _overload(server: Server, given: argparse.Namespace) -> dict[str, Any]:
    clients = Clients(server.address)
    capacity = await _capacity(clients)
    seen, memory = Seen(), [server.resident_megabytes()]
    watching = asyncio.create_task(_watch(server, memory))
    rate, drawn = capacity * given.times, random.Random(given.seed)
    await _send(clients, rate, given.minutes * 60, drawn, seen)
    watching.cancel()
    return _judge(capacity, given, seen, memory)


async def _capacity(clients: Clients, seconds: float = 10.0) -> float:
    """Finished requests per second at full load without refusals."""
    until, done = time.perf_counter() + seconds, Seen()

    async def one(number: int) -> None:
        seed = number
        while time.perf_counter() < until:
            await clients.ask(seed, done)
            seed += 64

    started = time.perf_counter()
    await asyncio.gather(*map(one, range(64)))
    assert set(done.seconds) == {"200"}, done.counts()
    return len(done.seconds["200"]) / (time.perf_counter() - started)


async def _send(
    clients: Clients, rate: float, seconds: float, drawn: random.Random, seen: Seen
) -> None:
    """Send requests at random times (a Poisson process) without waiting for answers."""
    tasks: set[asyncio.Task[None]] = set()
    started = due = time.perf_counter()
    seed = 0
    while due < started + seconds:
        due += drawn.expovariate(rate)
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        seen.late.append(time.perf_counter() - due)
        task = asyncio.create_task(clients.ask(seed, seen))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        seed += 1
    await asyncio.gather(*tasks)


async def _watch(server: Server, memory: list[float]) -> None:
    while True:
        await asyncio.sleep(1)
        memory.append(server.resident_megabytes())


def _judge(
    capacity: float, given: argparse.Namespace, seen: Seen, memory: list[float]
) -> dict[str, Any]:
    counts = seen.counts()
    third = max(len(memory) // 3, 1)
    growth = max(memory[-third:]) / max(memory[third : 2 * third] or memory)
    refusals = seen.seconds.get("429", [])
    others = {status: count for status, count in counts.items() if status not in ("200", "429")}
    slowest = percentile(refusals, 99)
    return {
        "minutes": given.minutes,
        "requests per second it can do": round(capacity, 1),
        "requests per second sent": round(sum(counts.values()) / (given.minutes * 60), 1),
        "answers": counts,
        "5xx": sum(count for status, count in counts.items() if status.startswith("5")),
        "neither 200 nor 429": others,
        "seconds to a 429: median, p99, max": [
            round(percentile(refusals, rank), 4) for rank in (50, 99, 100)
        ],
        "seconds to a 200: median, p99": [
            round(percentile(seen.seconds.get("200", []), rank), 2) for rank in (50, 99)
        ],
        "client late by seconds: p99": round(percentile(seen.late, 99), 4),
        "megabytes: start, middle, end, most": [
            round(size, 1)
            for size in (memory[0], memory[len(memory) // 2], memory[-1], max(memory))
        ],
        "growth, last third to middle third": round(growth, 4),
        "kept": not others and bool(refusals) and slowest < SLOWEST_REFUSAL and growth < GROWTH,
    }


def percentile(values: list[float], rank: float) -> float:
    """The percentile of the values; 0 if there are none."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * int(rank) // 100) - 1, 0)] if ordered else 0.0


# Stop -------------------------------------------------------------------------------------------


def stop(run: str, given: argparse.Namespace) -> dict[str, Any]:
    drawn = random.Random(given.seed)
    total: Counter[str] = Counter()
    slowest = 0.0
    for number in range(given.rounds):
        grace = GRACES[number % len(GRACES)]
        limits = ("--limit", f"max_tokens={ENDLESS}", "--limit", "deadline=600")
        server = Server(run, "--threads", "1", "--grace", str(grace), *limits)
        ends, seconds = asyncio.run(_stop(server, given.streams, drawn.uniform(0, 1)))
        code = server.process.wait(60)
        server.process.communicate()
        total.update(ends)
        total["exit code 0" if code == 0 else "another exit code"] += 1
        slowest = max(slowest, seconds - grace)
        print(f"round {number + 1}: grace {grace:g} s, {dict(ends)}", file=sys.stderr)
    broken = total["cut without an error event"] + total["another exit code"]
    return {
        "rounds": given.rounds,
        "streams per round": given.streams,
        **{name: total[name] for name in _ENDS},
        "slowest stop beyond its grace, s": round(slowest, 2),
        "kept": broken == 0 and total["new request, another answer"] == 0 and slowest < LATE,
    }


_ENDS = (
    "finished", "ended with an error event", "cut without an error event",
    "new request, 503", "new request, refused connection", "new request, another answer",
    "exit code 0", "another exit code",
)  # fmt: skip


async def _stop(server: Server, streams: int, wait: float) -> tuple[Counter[str], float]:
    host, _, port = server.address.removeprefix("http://").partition(":")
    begun = [asyncio.Event() for _ in range(streams)]
    tasks = [
        asyncio.create_task(_stream(host, int(port), number, event))
        for number, event in enumerate(begun)
    ]
    await asyncio.gather(*(event.wait() for event in begun))
    await asyncio.sleep(wait)
    started = time.perf_counter()
    os.kill(server.process.pid, signal.SIGTERM)
    await asyncio.sleep(0.01)
    new = await _new_request(host, int(port))
    ends = Counter(await asyncio.gather(*tasks))
    while server.process.poll() is None and time.perf_counter() - started < 60:
        await asyncio.sleep(0.01)
    ends[new] += 1
    return ends, time.perf_counter() - started


async def _stream(host: str, port: int, number: int, begun: asyncio.Event) -> str:
    """Read a stream and return how it ended; every second stream is endless."""
    tokens = ENDLESS if number % 2 else 10 + number * 8
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        request_bytes(host, port, prompt="w1", max_tokens=tokens, stream=True, seed=number)
    )
    last = b""
    try:
        while line := await reader.readline():
            if line.startswith(b"data: "):
                begun.set()
                last = line
    except OSError:
        pass
    begun.set()
    writer.close()
    if last.startswith(b"data: [DONE]"):
        return "finished"
    is_error = last.startswith(b"data: {") and b'"error"' in last and last.endswith(b"\n")
    return "ended with an error event" if is_error else "cut without an error event"


async def _new_request(host: str, port: int) -> str:
    try:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(request_bytes(host, port, prompt="w1", max_tokens=1))
        status, keep = await read_response(reader)
        writer.close()
    except (OSError, asyncio.IncompleteReadError):
        return "new request, refused connection"
    return "new request, 503" if status == "503" and not keep else "new request, another answer"


if __name__ == "__main__":
    main()
