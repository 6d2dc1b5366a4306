"""Run the server: listen, choose the token, report that it is ready, and shut down.

Takes run folders and an address and runs until it is stopped; called by `elman serve`. At SIGTERM
or Ctrl-C it stops in order: new requests get 503, running requests may finish within the grace
period, and the rest end with an error that gives the reason. A second signal ends the grace period.
"""

import asyncio
import logging
import secrets
import socket
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from elman.errors import InputError
from elman.studio.app import build
from elman.studio.limits import Limits
from elman.studio.logs import logging_to_stderr
from elman.studio.protocol import Connection
from elman.studio.security import Access, Guard, is_loopback
from elman.studio.served import load_served

_SHORTEST_TOKEN = 16
_SWITCH_INTERVAL = 0.0005  # seconds
_LAST_WORDS = 5.0  # seconds for the errors of requests that were cut to reach their clients
_LOG = logging.getLogger("elman.studio")


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
    root_path: str = "",
    proxies: Sequence[str] = (),
    tls: tuple[str, str] | None = None,
    grace: float = 30.0,
    log_level: str = "warning",
) -> None:
    """Serve runs until the process is stopped.

    `folder` contains the trainings to show; `ready` gets the address and the token; `tls` names the
    files of a certificate and its key; `proxies` are addresses whose X-Forwarded-* headers count.
    """
    limits = limits or Limits()
    token = choose_token(host, token, is_public=bool(proxies))
    shown = None if folder is None else Path(folder)
    if shown is not None and not shown.is_dir():
        raise InputError(f"--runs {folder}: no such folder; give a folder with run folders")
    if not 0 <= grace < float("inf"):
        raise InputError(f"--grace {grace}: give a number of seconds, 0 or more")
    check_tls(tls)
    listener = listen(host, port)
    try:
        port = listener.getsockname()[1]
        access = Access(
            host=host, port=port, names=tuple(names), token=token, tls=tls is not None,
            root_path=root_path, trusted=tuple(proxies),
        )  # fmt: skip
        # A thread that generates text yields to the event loop sooner than by default (5 ms).
        # Otherwise a request would wait that long at every system call; now overload is refused at
        # once.
        sys.setswitchinterval(_SWITCH_INTERVAL)
        with logging_to_stderr(log_level, token):
            guard = build(load_served(runs), access=access, limits=limits, runs=shown)
            where = address(host, port, tls=tls is not None)
            server = _Server(
                _config(guard, limits, tls), guard, grace, partial(ready, where, token)
            )
            server.run(sockets=[listener])
    finally:
        listener.close()


def _config(guard: Guard, limits: Limits, tls: tuple[str, str] | None) -> uvicorn.Config:
    protocol: Any = partial(Connection, header_seconds=limits.header_seconds)
    certificate, key = tls or (None, None)
    return uvicorn.Config(
        guard,
        http=protocol,
        ws="none",
        log_config=None,
        access_log=False,  # `logs.py` writes it, without query strings
        proxy_headers=False,  # `proxies.py` reads them, from trusted addresses only
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type]  # handed to call_later
        timeout_graceful_shutdown=2,  # for connections; requests have ended before
        ssl_certfile=certificate,
        ssl_keyfile=key,
        lifespan="on",
    )


class _Server(uvicorn.Server):
    """Reports when it is ready, and stops in order."""

    def __init__(
        self, config: uvicorn.Config, guard: Guard, grace: float, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._guard = guard
        self._grace = grace
        self._ready = ready
        self._signals = 0

    def run(self, sockets: list[socket.socket] | None = None) -> Any:
        try:
            return super().run(sockets)
        except KeyboardInterrupt:
            return None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then report it."""
        await super().startup(sockets=sockets)
        if not self.should_exit:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal starts the grace period; the second ends it."""
        self._signals += 1
        self._guard.stopping = True
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish running requests within the grace period, then close every connection."""
        self._guard.stopping = True
        if not await self._wait_for_requests(self._grace, signals=2):
            _LOG.warning("stopping: cut %d unfinished requests", self._guard.open_requests)
            self._guard.cut()
            await self._wait_for_requests(_LAST_WORDS, signals=3)
        await super().shutdown(sockets=sockets)

    async def _wait_for_requests(self, seconds: float, signals: int) -> bool:
        """Whether all requests ended in time and before this many signals."""
        until = time.monotonic() + seconds
        while self._guard.open_requests and time.monotonic() < until and self._signals < signals:
            await asyncio.sleep(0.02)
        return not self._guard.open_requests


def choose_token(host: str, token: str | None, is_public: bool = False) -> str | None:
    """The token to require: the given one, or a random one if others can reach the server."""
    if token is None:
        is_private = is_loopback(host) and not is_public
        return None if is_private else secrets.token_urlsafe(24)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"--token: give at least {_SHORTEST_TOKEN} printable ASCII characters, or leave it out"
        )
    return token


def check_tls(tls: tuple[str, str] | None) -> None:
    """Refuse a certificate and key that cannot be used."""
    if tls is None:
        return
    certificate, key = tls
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key, password="")  # never prompts for one
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"--tls-cert {certificate}, --tls-key {key}: cannot be used ({reason}); give a "
            "certificate and its key as PEM files, the key without a password"
        ) from None


def listen(host: str, port: int) -> socket.socket:
    """Bind a socket, or refuse with the reason."""
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port}: give a number from 0 to 65535; 0 for any free port")
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


def address(host: str, port: int, tls: bool = False) -> str:
    """The address of the page."""
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{name}:{port}/"
