"""A real server with real sockets: OpenAI's client, raw paths, clients that disconnect."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from forged import HOSTS, ORIGINS, traversals
from live import running

from elman.studio.limits import Limits
from elman.studio.served import Served


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with running(served) as address:
        yield address


@pytest.fixture(scope="module")
def openai_client(address: str) -> Iterator[Any]:
    openai = pytest.importorskip("openai", reason="needs openai: pip install openai")
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


def raw(address: str, request: str, timeout: float = 20) -> str:
    """The response to raw bytes."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as connection:
        connection.sendall(request.replace("HOST", f"{host}:{port}").encode("latin-1"))
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer.decode("utf-8", "replace")


def test_the_openai_client_completes(openai_client: Any) -> None:
    done = openai_client.completions.create(
        model="network", prompt="the cat", max_tokens=8, n=2, seed=1, stop=["zebra"]
    )
    assert [choice.index for choice in done.choices] == [0, 1]
    assert done.choices[0].finish_reason == "length"
    assert done.usage.completion_tokens == 16


def test_the_openai_client_streams_what_it_completes(openai_client: Any) -> None:
    asked = {"model": "letters", "prompt": "the cat", "max_tokens": 40, "seed": 2, "logprobs": 3}
    whole = openai_client.completions.create(**asked)
    with openai_client.completions.create(**asked, stream=True) as stream:
        pieces = list(stream)
    assert "".join(piece.choices[0].text for piece in pieces) == whole.choices[0].text
    assert len(pieces) > 10
    told = [value for piece in pieces for value in piece.choices[0].logprobs.token_logprobs]
    assert told == whole.choices[0].logprobs.token_logprobs
    assert len(whole.choices[0].logprobs.top_logprobs[0]) == 3


def test_the_openai_client_stops(openai_client: Any) -> None:
    done = openai_client.completions.create(
        model="words", prompt="the", max_tokens=60, seed=1, stop="."
    )
    assert done.choices[0].finish_reason == "stop"
    with openai_client.completions.create(
        model="words", prompt="the", max_tokens=1000, seed=1, stream=True
    ) as stream:
        next(iter(stream))  # and go away


def test_the_openai_client_knows_our_errors_and_models(openai_client: Any) -> None:
    import openai

    with pytest.raises(openai.NotFoundError, match="no model 'gpt'"):
        openai_client.completions.create(model="gpt", prompt="a")
    with pytest.raises(openai.BadRequestError, match="the limit is 1,024"):
        openai_client.completions.create(model="words", prompt="a", max_tokens=2000)
    assert [model.id for model in openai_client.models.list()] == ["words", "network", "letters"]
    assert openai_client.models.retrieve("words").owned_by == "elman"


def test_no_path_leads_outside_even_if_nobody_tidied_it(address: str) -> None:
    for path in traversals():
        answer = raw(address, f"GET {path} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
        status = answer.split(" ", 2)[1]
        assert status in ("400", "404"), (path, answer)
        assert "root:" not in answer


def test_no_forged_host_or_origin_is_answered_over_a_socket(address: str) -> None:
    port = address.rpartition(":")[2]
    for host in filter(lambda host: host == host.strip(), HOSTS):  # HTTP drops blanks around it
        host = host.replace("8000", port)
        answer = raw(
            address, f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        assert answer.split(" ", 2)[1] in ("400", "403"), host
    for origin in filter(lambda origin: origin == origin.strip(), ORIGINS):
        origin = origin.replace("8000", port)
        headers = f"Host: HOST\r\nOrigin: {origin}\r\nConnection: close"
        answer = raw(address, f"POST /v1/suggest HTTP/1.1\r\n{headers}\r\n\r\n")
        assert answer.split(" ", 2)[1] in ("400", "403"), origin


def test_the_server_does_not_say_what_it_is_made_of(address: str) -> None:
    answer = raw(address, "GET /health HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    assert answer.split(" ", 2)[1] == "200"
    assert "fastapi" not in answer.lower()


def rows(address: str) -> int:
    state = httpx2.get(f"{address}/health").json()["models"]
    return sum(sum(counts.values()) for counts in state.values())


def leave(address: str, **asked: Any) -> None:
    """Send a long request, wait for the first bytes of a stream, and disconnect."""
    host, _, port = address.removeprefix("http://").partition(":")
    body = json.dumps(asked)
    head = f"POST /v1/completions HTTP/1.1\r\nHost: {host}:{port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall((head + body).encode())
        if asked.get("stream"):
            connection.recv(1)
        else:
            time.sleep(0.05)


def seconds_until_free(address: str) -> float:
    started = time.monotonic()
    while rows(address):
        assert time.monotonic() - started < 30
        time.sleep(0.01)
    return time.monotonic() - started


@pytest.mark.parametrize("stream", [True, False])
def test_whoever_goes_away_frees_the_place_within_a_second(address: str, stream: bool) -> None:
    for _ in range(5):
        leave(address, model="network", prompt="the", max_tokens=1000, n=4, stream=stream)
    assert seconds_until_free(address) < 1


def test_whoever_goes_away_is_no_mistake_of_ours(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    for stream in (True, False):
        leave(address, model="network", prompt="the", max_tokens=1000, stream=stream)
    seconds_until_free(address)
    time.sleep(0.1)
    assert not caplog.records


def test_whoever_stays_notices_nothing_of_those_who_go(openai_client: Any, address: str) -> None:
    asked = {"model": "network", "prompt": "the cat", "max_tokens": 300, "seed": 9}
    alone = openai_client.completions.create(**asked).choices[0].text
    with openai_client.completions.create(**asked, stream=True) as stream:
        pieces = iter(stream)
        text = next(pieces).choices[0].text
        for _ in range(3):
            leave(address, model="network", prompt="a", max_tokens=1000, stream=True)
        text += "".join(piece.choices[0].text for piece in pieces)
    assert text == alone


def test_too_many_at_once_are_told_when_to_come_back(served: Served) -> None:
    """One is generated and never ends, one waits; so the others are refused."""
    limits = Limits(rows=1, samples=1, waiting=1, retry_after=3, max_tokens=10**7)
    with running(served, limits) as address:
        asked = {"model": "network", "prompt": "the", "max_tokens": 10**7}
        place, streamed = f"{address}/v1/completions", {**asked, "stream": True}
        with httpx2.stream("POST", place, json=streamed) as one, ThreadPoolExecutor() as pool:
            next(one.iter_lines())
            waiting = [pool.submit(httpx2.post, place, json=asked, timeout=4) for _ in range(3)]
            refused = []
            for request in waiting:
                with suppress(httpx2.TimeoutException):
                    refused.append(request.result())
        told = {(answer.status_code, answer.headers.get("retry-after")) for answer in refused}
        assert told == {(429, "3")}


def test_the_deadline_ends_a_request(served: Served) -> None:
    with running(served, Limits(deadline=0.2, max_tokens=10**6)) as address:
        asked = {"model": "network", "prompt": "the", "max_tokens": 10**6}
        response = httpx2.post(f"{address}/v1/completions", json=asked)
        assert response.status_code == 503
        assert response.json()["error"]["type"] == "timeout_error"
        with httpx2.stream(
            "POST", f"{address}/v1/completions", json={**asked, "stream": True}
        ) as one:
            *_, last = [line for line in one.iter_lines() if line]
        assert json.loads(last.removeprefix("data: "))["error"]["type"] == "timeout_error"
