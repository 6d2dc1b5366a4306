"""The server's log: one line per request at level info, and never the token.

`serving.py` sets it up, the guard writes a line for every request. Query strings and bodies are not
logged; should the token appear anywhere else, the formatter blanks it out.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from elman.errors import InputError

LEVELS = ("debug", "info", "warning", "error")
_ACCESS = logging.getLogger("elman.studio.access")
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_LONGEST_PATH = 200  # characters


class _Discreet(logging.Formatter):
    """Blank out the token wherever it appears in a message or a traceback."""

    def __init__(self, token: str | None) -> None:
        super().__init__(_FORMAT)
        self._secrets = [] if token is None else [token, quote(token, safe=""), _shown(token)]

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "[token]")
        return text


@contextmanager
def logging_to_stderr(level: str, token: str | None) -> Iterator[None]:
    """Log everything from this level on to standard error, inside the `with` block."""
    if level not in LEVELS:
        raise InputError(f"--log-level {level}: choose one of {', '.join(LEVELS)}")
    handler = logging.StreamHandler()
    handler.setFormatter(_Discreet(token))
    loggers = [logging.getLogger(name) for name in ("elman", "uvicorn")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(level.upper())
    try:
        yield
    finally:
        for logger, old in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(old)


def log_request(client: str, method: str, path: str, status: int, seconds: float) -> None:
    """Log a request in one line; `path` comes without its query string."""
    _ACCESS.info('%s "%s %s" %d %.3f s', client, method, _shown(path), status, seconds)


def _shown(path: str) -> str:
    """A path in one line. A long path is left out, because a truncated token would not match."""
    if len(path) > _LONGEST_PATH:
        return f"(a path of {len(path)} characters)"
    return quote(path, safe="/:@!$&'()*+,;=~")
