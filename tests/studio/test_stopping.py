"""SIGTERM: new requests are refused, running ones may finish, cut ones get an error."""

import json
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

ENDLESS = ["--limit", "max_tokens=10000000", "--limit", "deadline=600"]


def ask(place: str, **asked: Any) -> Any:
    return httpx2.stream(
        "POST", f"{place}v1/completions", json={"prompt": "the", **asked}, timeout=60
    )


def last_event(place: str, begun: threading.Barrier, **asked: Any) -> str:
    """Read a stream to its end."""
    last = ""
    with ask(place, stream=True, **asked) as response:
        for line in response.iter_lines():
            if not last:
                begun.wait(30)
            last = line.removeprefix("data: ") or last
    return last


def test_what_runs_is_finished_and_what_is_new_is_refused(serving: Any) -> None:
    place, process = serving("network", "--threads", "1", "--limit", "max_tokens=3000")
    begun = threading.Barrier(3)
    kept = socket.create_connection(("127.0.0.1", int(place.rstrip("/").rpartition(":")[2])))
    with ThreadPoolExecutor(2) as pool:
        streams = [
            pool.submit(last_event, place, begun, max_tokens=3000, n=8, seed=seed)
            for seed in range(2)
        ]
        begun.wait(30)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        refused = httpx2.post(f"{place}v1/completions", json={"prompt": "the"})
        assert refused.status_code == 503
        assert refused.headers["retry-after"].isdecimal()
        assert refused.headers["connection"] == "close"
        assert refused.json()["error"]["code"] == "server_stopping"
        assert httpx2.get(f"{place}health").status_code == 503
        kept.sendall(f"GET /health HTTP/1.1\r\nHost: {place.split('/')[2]}\r\n\r\n".encode())
        assert kept.recv(9999).startswith(b"HTTP/1.1 503 ")
        assert [stream.result(60) for stream in streams] == ["[DONE]", "[DONE]"]
    kept.close()
    assert process.wait(20) == 0
    assert process.stderr.read() == ""


@pytest.mark.parametrize("second", [False, True])
def test_streams_that_must_be_cut_end_with_an_error(serving: Any, second: bool) -> None:
    """After the grace period, or at a second signal."""
    grace = "60" if second else "0.5"
    place, process = serving("network", "--threads", "1", "--grace", grace, *ENDLESS)
    begun = threading.Barrier(9)
    with ThreadPoolExecutor(10) as pool:
        streams = [pool.submit(last_event, place, begun, max_tokens=10_000_000) for _ in range(8)]
        whole = pool.submit(
            httpx2.post, f"{place}v1/completions", timeout=60,
            json={"prompt": "the", "max_tokens": 10_000_000},
        )  # fmt: skip
        begun.wait(30)
        time.sleep(0.2)
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        if second:
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
        for stream in streams:
            error = json.loads(stream.result(60))["error"]
            assert (error["code"], error["type"]) == ("server_stopping", "unavailable_error")
        assert whole.result(60).status_code == 503
    assert process.wait(20) == 0
    assert 0.4 < time.monotonic() - started < 15
    said = process.stderr.read()
    assert "cut 9 unfinished requests" in said
    assert "Traceback" not in said


def test_other_work_is_cut_too(served: Any) -> None:
    """An endless job ends at its next progress report, and its client gets 503."""
    import asyncio

    from elman.studio.errors import ServerStopping
    from elman.studio.jobs import Job, Jobs
    from elman.studio.limits import Limits

    def endless(job: Job) -> None:
        while True:
            job.go_on()
            time.sleep(0.01)

    async def run() -> None:
        jobs = Jobs(Limits())
        task = asyncio.ensure_future(jobs.run(endless))
        await asyncio.sleep(0.05)
        jobs.cut()
        with pytest.raises(ServerStopping):
            await task
        with pytest.raises(ServerStopping):
            await jobs.run(endless)
        jobs.close()

    asyncio.run(run())


def test_an_idle_server_stops_at_once(serving: Any) -> None:
    place, process = serving("words")
    with httpx2.Client(base_url=place) as client:  # its connection is kept
        assert client.get("/health").status_code == 200
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert time.monotonic() - started < 3
    assert process.stderr.read() == ""
