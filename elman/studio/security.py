"""Who may ask: Host, Origin and token are checked before anything else, and pages are kept strict.

Takes every request, lets it pass or answers 401, 403, 413 or 429. A name that leads here from
elsewhere (DNS rebinding) fails the Host check, a page of elsewhere the Origin check; who listens
beyond this machine needs a token. Around everything as plain ASGI, so that streams pass untouched.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elman.studio.errors import Busy, DeadlinePassed, Refused, respond
from elman.studio.limits import Limits

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_GRACE = 10.0  # seconds that an answer may take to arrive after its deadline
_WITHOUT_TOKEN = ("GET", "HEAD")


@dataclass(frozen=True)
class Access:
    """Where the server listens, the names it answers to, and the token it asks for, if any."""

    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()  # further names that lead here, as a client writes them
    token: str | None = None
    open_paths: frozenset[str] = frozenset()  # that need no token: the files of the page
    hosts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        names = {*self.names, *(_LOOPBACK if is_loopback(self.host) else ())}
        if not is_everywhere(self.host):
            names.add(f"[{self.host}]" if ":" in self.host else self.host)
        if is_everywhere(self.host):
            names |= set(_LOOPBACK)
        object.__setattr__(self, "hosts", frozenset(with_port(names, self.port)))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def is_everywhere(host: str) -> bool:
    """Whether it stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return host == ""


def with_port(names: Iterable[str], port: int) -> set[str]:
    """The names as a Host header has them: with the port, which may be left out if it is 80."""
    lower = {name.lower() for name in names}
    return {f"{name}:{port}" for name in lower} | (lower if port == 80 else set())


class Guard:
    """The app behind the checks."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self.app = app
        self.access = access
        self.limits = limits
        self._open = 0  # requests that are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks anything else

        answer = _Answer(send)
        self._open += 1
        try:
            async with asyncio.timeout(self.limits.deadline + _GRACE):
                await self._answer(scope, receive, answer)
        except TimeoutError:  # of a client that takes nothing from its stream, say
            if not answer.has_begun:
                await respond(DeadlinePassed(self.limits.deadline))(scope, receive, answer.send)
        finally:
            self._open -= 1

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            self._check(scope)
            if self._open > self.limits.connections:
                raise Busy(self.limits.retry_after)
            receive = await self._read_body(scope, receive)
        except Refused as refused:
            await respond(refused)(scope, receive, answer.send)
            return
        if receive is not _gone:
            await self.app(scope, receive, answer.send)

    def _check(self, scope: Scope) -> None:
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or not self._is_ours(hosts[0], scope):
            raise Refused(403, "this server does not answer to that Host")
        for origin in _values(scope, b"origin"):
            if origin.lower() != f"{scope['scheme']}://{hosts[0].lower()}":
                raise Refused(403, "requests from another Origin are refused")
        for site in _values(scope, b"sec-fetch-site"):
            if site not in ("same-origin", "none"):
                raise Refused(403, "requests from another Origin are refused")
        self._check_token(scope)

    def _is_ours(self, host: str, scope: Scope) -> bool:
        if host.lower() in self.access.hosts:
            return True
        if not is_everywhere(self.access.host) or not scope.get("server"):
            return False
        # Of a server that listens everywhere: the very address that the connection came to.
        address = str(scope["server"][0])
        name = f"[{address}]" if ":" in address else address
        return host.lower() in with_port([name], self.access.port)

    def _check_token(self, scope: Scope) -> None:
        token = self.access.token
        is_file = scope["method"] in _WITHOUT_TOKEN and scope["path"] in self.access.open_paths
        if token is None or is_file:
            return
        given = _values(scope, b"authorization")
        wanted = f"Bearer {token}".encode()
        if len(given) != 1 or not hmac.compare_digest(given[0].encode("latin-1"), wanted):
            refused = Refused(401, "give the token that the server printed when it was started")
            refused.headers = {"WWW-Authenticate": "Bearer"}
            raise refused

    async def _read_body(self, scope: Scope, receive: Receive) -> Receive:
        """The whole body, if it is small enough and comes in time; then a `receive` that has it."""
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.deadline):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _gone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.body_bytes:
                        most = self.limits.body_bytes
                        raise Refused(413, f"the body is larger than {most:,} bytes")
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise DeadlinePassed(self.limits.deadline) from None
        return _with_body(b"".join(parts), receive)


class _Answer:
    """A response on its way, with our headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            message = {**message, "headers": _stricter(message.get("headers", []))}
        await self._send(message)


def _with_body(body: bytes, receive: Receive) -> Receive:
    given = False

    async def receive_body() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body


async def _gone() -> Message:
    return {"type": "http.disconnect"}


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _stricter(headers: Any) -> list[tuple[bytes, bytes]]:
    """The headers of a response and ours; where a response has its own, that one."""
    present = {key.lower() for key, _ in headers}
    ours = [(key.lower().encode(), value.encode()) for key, value in HEADERS.items()]
    return [*headers, *((key, value) for key, value in ours if key not in present)]
