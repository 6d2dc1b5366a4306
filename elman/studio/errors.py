"""Errors in the format of OpenAI: `{"error": {message, type, param, code}}`.

Turns exceptions into responses; `app.py` installs the handlers. Messages expose no internals: an
unexpected error gets a general message, and the details go to the server log.
"""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from elman.errors import ElmanError

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "timeout_error",
}
_RESTART = 5  # seconds that a restart takes, sent with a 503
_LONGEST = 500  # characters of a message, which may quote the request
_LOG = logging.getLogger("elman.studio")


class ErrorDetails(BaseModel):
    """The details of an error."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(BaseModel):
    """An error response in the format of OpenAI."""

    error: ErrorDetails


# The error responses of every route, for the OpenAPI description.
DESCRIBED: dict[int | str, dict[str, Any]] = {
    status: {"description": kind, "model": ErrorAnswer}
    for status, kind in TYPES.items()
    if status != 405
}


class Refused(Exception):
    """A request that gets an error response."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers: dict[str, str] = {}
        self.type = TYPES.get(status, "invalid_request_error")


class Busy(Refused):
    """The queue is full."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(429, f"too many requests are waiting; try again in {retry_after} s")
        self.headers = {"Retry-After": str(retry_after)}


class DeadlinePassed(Refused):
    """The request exceeded the deadline."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            503,
            f"the deadline of {seconds:g} s has passed; ask for less text or fewer tokens",
        )


class ServerStopping(Refused):
    """The server is stopping: it refuses new requests and ends those that take too long."""

    def __init__(self) -> None:
        super().__init__(503, "the server is stopping; try again", code="server_stopping")
        self.type = "unavailable_error"
        self.headers = {"Retry-After": str(_RESTART), "Connection": "close"}


def error_data(refused: Refused) -> dict[str, Any]:
    """The error as data."""
    message = refused.message.encode("utf-8", "replace").decode()  # lone surrogates cannot be sent
    if len(message) > _LONGEST:
        message = message[:_LONGEST] + " …"
    return {
        "error": {
            "message": message,
            "type": refused.type,
            "param": refused.param,
            "code": refused.code,
        }
    }


def as_refused(error: BaseException) -> Refused:
    """The error to send for an exception."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ElmanError):
        return Refused(400, " ".join(str(error).split()))
    _LOG.error("a request failed", exc_info=error)
    return Refused(500, "internal error: this is a bug in elman; see the server log")


def respond(refused: Refused) -> JSONResponse:
    """The response to a refused request."""
    return JSONResponse(error_data(refused), refused.status, headers=refused.headers)


def install(app: FastAPI) -> None:
    """Send every error in the same format."""

    async def explain(request: Request, error: Exception) -> JSONResponse:
        return respond(as_refused(error))

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return respond(_invalid(error))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        message = f"no such route: {request.url.path}" if error.status_code == 404 else error.detail
        refused = Refused(error.status_code, str(message))
        refused.headers = dict(error.headers or {})
        return respond(refused)

    app.add_exception_handler(Refused, explain)
    app.add_exception_handler(ElmanError, explain)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, explain)


def _invalid(error: RequestValidationError) -> Refused:
    """Report the first mistake in a body or a query."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
    if first["type"] == "json_invalid":
        return Refused(400, "the body is not valid JSON")
    where = ".".join(place) or "the body"
    if not place and first["type"] in ("model_attributes_type", "dict_type", "dataclass_type"):
        return Refused(
            400, "the body is not a JSON object; send one, with Content-Type: application/json"
        )
    if first["type"] == "extra_forbidden":
        return Refused(400, f"{where}: no such field", param=where)
    return Refused(400, f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}", param=where)
