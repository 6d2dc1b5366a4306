"""Connections: HTTP/1.1 with uvicorn and h11, plus a deadline for headers.

uvicorn waits forever for incomplete headers. Here a client must send all headers of its next
request in time, otherwise the server sends 408 and closes the connection. A request with both
Content-Length and Transfer-Encoding, which could smuggle a second request past a proxy, gets 400
and the connection is closed.
"""

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from elman.studio.errors import Refused, error_data

_REASONS = {400: b"Bad Request", 408: b"Request Timeout"}


class _StrictConnection(h11.Connection):
    """Refuses requests with both Content-Length and Transfer-Encoding, which h11 accepts."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}  # h11 writes them in lower case
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
        return event


class Connection(H11Protocol):
    """One connection of a client."""

    def __init__(self, *given: Any, header_seconds: float, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn = _StrictConnection(h11.SERVER)
        self._header_seconds = header_seconds
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the headers of a first request."""
        super().connection_made(transport)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers, unless they are complete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_headers()
        elif not self._is_lingering():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Limit the time that a client may keep sending the body of a finished request."""
        super().on_response_complete()
        if self._is_lingering():
            self._expect_headers()

    def send_400_response(self, msg: str) -> None:
        """Send the error as JSON, like every other error."""
        self._refuse(Refused(400, "this is not a valid HTTP request"))

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: the server offers no upgrade and answers the request."""

    def _is_lingering(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.DONE

    def _expect_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._header_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        begun, _ = self.conn.trailing_data
        if begun and self.conn.our_state is h11.IDLE:
            self._refuse(
                Refused(408, f"the headers were not complete after {self._header_seconds:g} s")
            )
        else:
            self.transport.close()

    def _refuse(self, refused: Refused) -> None:
        """Send an error without calling the application, and close the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(error_data(refused)).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            start = h11.Response(
                status_code=refused.status, headers=headers, reason=_REASONS[refused.status]
            )
            for event in (start, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
