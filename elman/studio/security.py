"""Access control: check Host, Origin and token of every request, and send strict headers.

Every request passes or gets 401, 403, 408, 413, 429 or (while stopping) 503. The Host check stops
DNS rebinding, the Origin check stops pages of other sites, and a server that other machines can
reach requires a token. The guard wraps the application as plain ASGI, so streams pass unchanged. It
also counts and logs every request.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elman.errors import InputError
from elman.studio.errors import Busy, DeadlinePassed, Refused, ServerStopping, respond
from elman.studio.limits import Limits
from elman.studio.logs import log_request
from elman.studio.metrics import Metrics
from elman.studio.proxies import Proxies, clean_root_path, headers, under_root

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
_GRACE = 10.0  # seconds that a response may take to arrive after its deadline
_WITHOUT_TOKEN = ("GET", "HEAD")
_CLIENT_GONE = 499  # nginx's number for a request whose client left before the response
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NAME = re.compile(r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?P<port>:[0-9]{1,5})?")
_DEFAULT_PORTS = (":80", ":443")


@dataclass(frozen=True)
class Access:
    """The address of the server, its host names, and the token that it requires, if any."""

    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()  # additional host names, with or without a port
    token: str | None = None
    open_paths: frozenset[str] = frozenset()  # paths without a token: the files of the page
    tls: bool = False
    root_path: str = ""  # the path under which a proxy publishes the server
    trusted: tuple[str, ...] = ()  # addresses or networks of proxies
    hosts: frozenset[str] = field(init=False)
    named_hosts: frozenset[str] = field(init=False)  # hosts given with --name
    proxies: Proxies = field(init=False)

    def __post_init__(self) -> None:
        own = set(_LOOPBACK if is_loopback(self.host) or is_everywhere(self.host) else ())
        if not is_everywhere(self.host):
            own.add(f"[{self.host}]" if ":" in self.host else self.host)
        named = frozenset(host for name in self.names for host in hosts_of(name, self.port))
        object.__setattr__(self, "named_hosts", named)
        object.__setattr__(self, "hosts", named | with_port(own, self.port, self.tls))
        object.__setattr__(self, "proxies", Proxies(self.trusted))
        object.__setattr__(self, "root_path", clean_root_path(self.root_path))

    def allows_origin(self, origin: str, scheme: str, host: str) -> bool:
        """Whether pages of this origin may send requests; a named host may be a TLS proxy."""
        own = {f"{scheme}://{host}"}
        if host in self.named_hosts:
            own.add(f"https://{host}")
        return origin in own


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def is_everywhere(host: str) -> bool:
    """Whether the address means every address of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return host == ""


def with_port(names: Iterable[str], port: int, tls: bool = False) -> set[str]:
    """The names as Host headers: with the port, or without it if it is the scheme's default."""
    lower = {name.lower() for name in names}
    default = 443 if tls else 80
    return {f"{name}:{port}" for name in lower} | (lower if port == default else set())


def hosts_of(name: str, port: int) -> set[str]:
    """The Host headers that a name from the user allows."""
    lower = name.lower()
    found = _NAME.fullmatch(lower)
    if found is None:
        raise InputError(
            f"--name {name}: give a host name, such as example.org or example.org:8443"
        )
    if found["port"] is None:
        return {lower, f"{lower}:{port}"}
    without = lower.removesuffix(found["port"])
    return {lower, without} if found["port"] in _DEFAULT_PORTS else {lower}


class Guard:
    """The application behind the checks.

    `is_full` tells whether any request for a path would be refused, which makes refusals cheap
    under load. `cut` ends the running requests when the grace period is over.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        limits: Limits,
        *,
        metrics: Metrics | None = None,
        is_full: Callable[[str], bool] = lambda path: False,
        cut: Callable[[], None] = lambda: None,
    ) -> None:
        self.app = app
        self.access = access
        self.limits = limits
        self.metrics = metrics or Metrics()
        self.is_full = is_full
        self.cut = cut
        self.stopping = False  # new requests get 503
        self._open = 0  # requests in progress

    @property
    def open_requests(self) -> int:
        return self._open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other protocol is supported

        started = time.perf_counter()
        scope, path = under_root(self.access.proxies.as_sent(scope), self.access.root_path)
        answer = _Answer(send)
        self._open += 1
        try:
            async with asyncio.timeout(self.limits.deadline + _GRACE):
                await self._answer(scope, path, receive, answer)
        except TimeoutError:  # for example a client that does not read its stream
            if not answer.has_begun:
                await respond(DeadlinePassed(self.limits.deadline))(scope, receive, answer.send)
        finally:
            self._open -= 1
            self._record(scope, path, answer, time.perf_counter() - started)

    async def _answer(self, scope: Scope, path: str, receive: Receive, answer: _Answer) -> None:
        try:
            self._check(scope, path)
            if self.stopping:
                raise ServerStopping
            if self._open > self.limits.connections or self.is_full(path):
                raise Busy(self.limits.retry_after)
            receive = await self._read_body(receive)
        except Refused as refused:
            await respond(refused)(scope, receive, answer.send)
            return
        if receive is _gone:
            return
        if not path:  # the root path itself: links in the page are relative to the slash
            await RedirectResponse(f"{self.access.root_path}/")(scope, receive, answer.send)
            return
        await self.app(scope, receive, answer.send)

    def _record(self, scope: Scope, path: str, answer: _Answer, seconds: float) -> None:
        """Count a request, and log it."""
        status = answer.status or _CLIENT_GONE
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.count_request(method, route, status, seconds)
        client = scope.get("client") or ("-", 0)
        log_request(client[0], scope["method"], path, status, seconds)

    def _check(self, scope: Scope, path: str) -> None:
        hosts = headers(scope, b"host")
        forwarded = scope.get("forwarded_host")
        wanted = [*hosts, *([forwarded] if forwarded else [])]
        if len(hosts) != 1 or not all(self._is_ours(host, scope) for host in wanted):
            raise Refused(403, "this Host is not allowed; add it with --name")
        for origin in headers(scope, b"origin"):
            if not self.access.allows_origin(origin.lower(), scope["scheme"], wanted[-1].lower()):
                raise Refused(403, "requests from another Origin are refused")
        for site in headers(scope, b"sec-fetch-site"):
            if site not in ("same-origin", "none"):
                raise Refused(403, "requests from another Origin are refused")
        self._check_token(scope, path)

    def _is_ours(self, host: str, scope: Scope) -> bool:
        if host.lower() in self.access.hosts:
            return True
        if not is_everywhere(self.access.host) or not scope.get("server"):
            return False
        # A server that listens on every address also accepts the address of the connection.
        address = str(scope["server"][0])
        name = f"[{address}]" if ":" in address else address
        return host.lower() in with_port([name], self.access.port, self.access.tls)

    def _check_token(self, scope: Scope, path: str) -> None:
        scope["knows_token"] = self._knows_token(scope)
        is_open = scope["method"] in _WITHOUT_TOKEN and path in self.access.open_paths
        if not scope["knows_token"] and not is_open:
            refused = Refused(
                401,
                "the token is missing or wrong; send the token that the server printed",
            )
            refused.headers = {"WWW-Authenticate": "Bearer"}
            raise refused

    def _knows_token(self, scope: Scope) -> bool:
        if self.access.token is None:
            return True
        given = headers(scope, b"authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        is_same = hmac.compare_digest(token.encode("latin-1"), self.access.token.encode())
        return is_same and scheme.lower() == "bearer"

    async def _read_body(self, receive: Receive) -> Receive:
        """Read the whole body within size and time limits; return a `receive` that replays it."""
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
            seconds = self.limits.deadline
            raise Refused(408, f"the body was not complete after {seconds:g} s") from None
        return _with_body(b"".join(parts), receive)


class _Answer:
    """A response in progress; adds the security headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None

    @property
    def has_begun(self) -> bool:
        return self.status is not None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
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


def _stricter(headers: Any) -> list[tuple[bytes, bytes]]:
    """Add the security headers to a response; its own headers take precedence."""
    present = {key.lower() for key, _ in headers}
    ours = [(key.lower().encode(), value.encode()) for key, value in HEADERS.items()]
    return [*headers, *((key, value) for key, value in ours if key not in present)]
