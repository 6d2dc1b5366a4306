"""A small HTTP server for tests of downloads: it can cut, stall, redirect and lie."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FileServer:
    """Files in memory, and how the server misbehaves."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.statuses: dict[str, int] = {}
        self.cut_after: list[int] = []  # bytes of the next answers, then the connection is closed
        self.ignores_ranges = False
        self.tag: str | None = '"one"'
        self.says_length = True
        self.announced: int | None = None  # another length than the true one
        self.pause = 0.0  # seconds before every byte
        self.asked: list[tuple[str, str | None]] = []  # path and Range of every request
        self.address = ""


@contextmanager
def serving() -> Iterator[FileServer]:
    """A running server."""
    state = FileServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append((self.path, wanted))
            if self.path in state.redirects:
                self.send_response(302)
                self.send_header("Location", state.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status = state.statuses.get(self.path, 200 if self.path in state.files else 404)
            data = state.files.get(self.path, b"") if status == 200 else b"sorry"
            start = 0
            if wanted and status == 200 and not state.ignores_ranges:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if self.headers.get("If-Range") != state.tag:
                    start = 0
                elif start >= len(data):
                    status, data, start = 416, b"", 0
                else:
                    status = 206
            body = data[start:]
            self.send_response(status)
            if state.says_length:
                self.send_header("Content-Length", str(state.announced or len(body)))
            else:
                self.send_header("Connection", "close")
            if state.tag:
                self.send_header("ETag", state.tag)
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.end_headers()
            self._send(body)

        def _send(self, body: bytes) -> None:
            if state.cut_after:
                self.wfile.write(body[: state.cut_after.pop(0)])
                self.close_connection = True
                return
            if not state.pause:
                self.wfile.write(body)
                if not state.says_length or state.announced:
                    self.close_connection = True
                return
            for place in range(len(body)):
                time.sleep(state.pause)
                try:
                    self.wfile.write(body[place : place + 1])
                except OSError:
                    return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
