"""Slow, incomplete and ambiguous HTTP requests."""

import socket
import time
from typing import Any

import pytest

TIGHT = ["--limit", "header_seconds=1", "--limit", "idle_seconds=1"]
HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1"


@pytest.fixture(scope="module")
def server(serving: Any) -> Any:
    place, process = serving("words", *TIGHT)
    host, _, port = place.removeprefix("http://").rstrip("/").partition(":")
    return (host, int(port)), process


def read_all(connection: socket.socket) -> bytes:
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


def whole(address: Any, more: bytes = b"") -> bytes:
    return b"GET /health HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n" % (
        address[0].encode(),
        address[1],
        more,
    )


def test_half_sent_headers_are_closed_in_time(server: Any) -> None:
    """600 such connections once stayed open forever."""
    address, _ = server
    started = time.monotonic()
    connections = [socket.create_connection(address, timeout=20) for _ in range(600)]
    for connection in connections:
        connection.sendall(HALF)
    answers = [read_all(connection) for connection in connections]
    assert time.monotonic() - started < 15
    assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers)
    assert b"timeout_error" in answers[0]
    with socket.create_connection(address, timeout=20) as connection:  # others are served
        connection.sendall(whole(address, b"Connection: close\r\n"))
        assert read_all(connection).startswith(b"HTTP/1.1 200 ")
    for connection in connections:
        connection.close()


def test_headers_that_trickle_in_are_not_waited_for(server: Any) -> None:
    address, _ = server
    with socket.create_connection(address, timeout=20) as connection:
        started, answer = time.monotonic(), b""
        connection.settimeout(0.2)
        for byte in HALF * 3:
            try:
                connection.sendall(bytes([byte]))
                answer += connection.recv(65536)
                break
            except TimeoutError:
                assert time.monotonic() - started < 5
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_says_nothing_is_closed(server: Any) -> None:
    address, _ = server
    with socket.create_connection(address, timeout=5) as connection:
        assert read_all(connection) == b""


@pytest.mark.parametrize("rest", [b"", HALF])
def test_a_kept_connection_is_closed_too(server: Any, rest: bytes) -> None:
    address, _ = server
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(whole(address))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(rest)
        assert b"200 OK" not in read_all(connection)


def test_a_refused_body_may_not_trickle_in_for_ever(server: Any) -> None:
    address, _ = server
    with socket.create_connection(address, timeout=0.2) as connection:
        connection.sendall(
            b"POST /v1/suggest HTTP/1.1\r\nHost: evil\r\nContent-Length: 9999\r\n\r\n"
        )
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            trickle(connection, seconds=5)


def trickle(connection: socket.socket, seconds: float) -> None:
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        connection.sendall(b"x")
        time.sleep(0.1)


@pytest.mark.parametrize("order", [1, -1])
def test_a_body_of_two_lengths_closes_the_connection(server: Any, order: int) -> None:
    address, _ = server
    lengths = [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"][::order]
    head = b"POST /v1/suggest HTTP/1.1\r\nHost: %s:%d\r\n" % (address[0].encode(), address[1])
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(head + b"".join(lengths) + b"\r\n0\r\n\r\n" + whole(address))
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1  # what was smuggled in is not answered
    assert b"invalid_request_error" in answer


def test_nonsense_gets_one_answer(server: Any) -> None:
    address, _ = server
    for nonsense in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"x" * 100_000):
        with socket.create_connection(address, timeout=5) as connection:
            connection.sendall(nonsense)
            try:
                answer = read_all(connection)
            except ConnectionResetError:  # of what was not read any more
                continue
            assert answer.startswith(b"HTTP/1.1 400 ")


def test_no_advice_about_websockets_and_no_traceback_in_the_log(server: Any) -> None:
    address, process = server
    upgrade = b"Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(whole(address, upgrade))
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection).startswith(b"HTTP/1.1 200 ")
    process.terminate()  # the last test of the file
    said = process.stderr.read()
    assert "Traceback" not in said
    assert "upgrade" not in said.lower()
    assert "websocket" not in said.lower()
