"""Run the server: where it listens, with which token, and what it says when it is ready.

Takes run folders and an address, runs until it is stopped; called by `elman serve`.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from elman.errors import InputError
from elman.studio.app import build
from elman.studio.limits import Limits
from elman.studio.security import Access, is_loopback
from elman.studio.served import load_served

_SHORTEST_TOKEN = 16


def serve(
    runs: Sequence[str],
    *,
    host: str,
    port: int,
    names: Sequence[str] = (),
    token: str | None = None,
    limits: Limits | None = None,
    folder: str | None = None,
    ready: Callable[[str, str | None], None] = lambda address, token: None,
) -> None:
    """Serve runs until the process is stopped; `folder`: of trainings to
    show; `ready` gets the address and the token.
    """
    token = choose_token(host, token)
    shown = None if folder is None else Path(folder)
    if shown is not None and not shown.is_dir():
        raise InputError(f"--runs {folder}: no such folder; give one that holds run folders")
    listener = listen(host, port)
    try:
        port = listener.getsockname()[1]
        access = Access(host=host, port=port, names=tuple(names), token=token)
        app = build(load_served(runs), access=access, limits=limits, runs=shown)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        ready(address(host, port), token)
        _Server(config).run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """Stops at Ctrl-C without raising it a second time."""

    def run(self, sockets: list[socket.socket] | None = None) -> Any:
        try:
            return super().run(sockets)
        except KeyboardInterrupt:
            return None


def choose_token(host: str, token: str | None) -> str | None:
    """The token to ask for: none on this machine alone, unless one is wished for."""
    if token is None:
        return None if is_loopback(host) else secrets.token_urlsafe(24)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"--token: give at least {_SHORTEST_TOKEN} printable characters of ASCII, or none"
        )
    return token


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; or one line that says why not."""
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port}: give a number from 0 to 65535; 0 for any that is free")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
    except OSError as error:
        listener.close()
        raise InputError(
            f"{host}:{port}: cannot listen there ({error.strerror}); choose another --port"
        ) from None
    return listener


def address(host: str, port: int) -> str:
    """The address of the page."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"
