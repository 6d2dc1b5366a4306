"""Download a file over HTTP: resumed where it stopped, bounded, and complete or absent.

Takes an address and a path, gives the SHA-256 of the file; called by `tasks/data_get.py`. What has
arrived is kept beside the path under a hidden name, with the marks (`ETag`, `Last-Modified`) by
which the server confirms that it is still the same file. Only http and https are followed, and
never from https to http.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from elman.atomic import flush
from elman.errors import ElmanError, InputError
from elman.version import __version__

Told = Callable[[str], None]
_ATTEMPTS = 3
_PAUSE = 1.0  # seconds before the second attempt; before the third, twice as long
_TIMEOUT = 30.0  # seconds without a byte
_SLOWEST = 1000  # bytes per second …
_WINDOW = 60.0  # … over so many seconds
_PIECE = 1 << 16
_SCHEMES = ("http", "https")


class _Broken(Exception):
    """A failure that another attempt may not meet."""


@dataclass(frozen=True)
class Download:
    """A file to download: from where, to where, and how much it may be."""

    address: str
    path: Path
    largest: int  # bytes

    @property
    def part(self) -> Path:
        """What has arrived so far."""
        return self.path.with_name(f".{self.path.name}.part")

    @property
    def marks(self) -> Path:
        """How the server recognises the file."""
        return self.path.with_name(f".{self.path.name}.part.json")

    def keep(self) -> None:
        """Give the complete file its name."""
        flush(self.part)
        self.part.replace(self.path)
        self.marks.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove everything that has arrived."""
        self.part.unlink(missing_ok=True)
        self.marks.unlink(missing_ok=True)


def download(wanted: Download, expected: str | None, told: Told) -> str:
    """Download a file and return its SHA-256, which must be the expected one if that is known.

    The complete file is `wanted.part` until the caller keeps or forgets it.
    """
    check_address(wanted.address)
    _attempt(wanted, told)
    found = sha256_of(wanted.part)
    if expected is not None and found != expected:
        wanted.forget()
        raise InputError(
            f"{wanted.address}: has the SHA-256 {found} instead of {expected}, so it was changed "
            "or damaged; nothing was kept"
        )
    return found


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_address(address: str, *, secure: bool = False) -> None:
    """Refuse every address except http and https; `secure`: except https."""
    scheme = urlsplit(address).scheme.lower()
    if scheme not in _SCHEMES:
        raise InputError(f"{address}: is not an address of http or https; give one")
    if secure and scheme != "https":
        raise InputError(f"{address}: redirects from https to http; nothing was downloaded")


def _attempt(wanted: Download, told: Told) -> None:
    """Download until the file is complete, with a few attempts."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _continue(wanted, told)
            return
        except _Broken as error:
            if attempt == _ATTEMPTS:
                kept = _size(wanted.part)
                there = f"{kept:,} bytes are kept, so the same command continues there"
                raise ElmanError(
                    f"{wanted.address}: {error} ({_ATTEMPTS} attempts); "
                    f"{there if kept else 'try again later'}"
                ) from None
            time.sleep(_PAUSE * attempt)


def _continue(wanted: Download, told: Told) -> None:
    """One attempt, from where the last one stopped."""
    validator = _validator(wanted)
    have = _size(wanted.part) if validator else 0
    headers = {"User-Agent": f"elman/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    with _answer(wanted, headers) as answer:
        start, total = _extent(wanted, answer, have)
        if total > wanted.largest:
            raise InputError(
                f"{wanted.address}: has {total:,} bytes, more than the {wanted.largest:,} that "
                "are allowed; nothing was downloaded"
            )
        if start == 0:
            wanted.marks.write_text(json.dumps(_marks(answer)), encoding="utf-8")
        with wanted.part.open("r+b" if start else "wb") as file:
            file.truncate(start)
            file.seek(start)
            for piece in _pieces(answer, wanted, told, start, total):
                file.write(piece)
    if (size := _size(wanted.part)) != total:
        raise _Broken(f"the connection ended after {size:,} of {total:,} bytes")


def _pieces(answer: Any, wanted: Download, told: Told, count: int, total: int) -> Iterator[bytes]:
    """The pieces of an answer as they arrive; a crawling server counts as a broken one."""
    began, before = time.monotonic(), count
    while piece := answer.read1(_PIECE):
        count += len(piece)
        if count > total:
            wanted.forget()
            raise InputError(f"{wanted.address}: sent more bytes than announced; nothing was kept")
        yield piece
        told(f"{wanted.path.name}: {count / 1e6:,.1f} of {total / 1e6:,.1f} MB")
        now = time.monotonic()
        if now - began > _WINDOW:
            if count - before < _SLOWEST * (now - began):
                raise _Broken("the server is too slow")
            began, before = now, count


@contextmanager
def _answer(wanted: Download, headers: dict[str, str]) -> Iterator[Any]:
    """The answer of the server; errors of the network are sorted into final and passing ones."""
    try:
        request = Request(wanted.address, headers=headers)
        with _opener().open(request, timeout=_TIMEOUT) as answer:
            yield answer
    except HTTPError as error:
        _sort(wanted, error)
    except TimeoutError:
        raise _Broken(f"no answer within {_TIMEOUT:g} seconds") from None
    except URLError as error:
        raise _Broken(f"cannot be reached ({error.reason})") from None
    except (HTTPException, ConnectionError) as error:
        raise _Broken(f"the connection broke ({type(error).__name__})") from None


def _sort(wanted: Download, error: HTTPError) -> None:
    """Raise what an HTTP status means."""
    error.close()
    if error.code == 416:  # more is here than there
        wanted.forget()
        raise _Broken("the file on the server has changed")
    if error.code >= 500 or error.code == 429:
        raise _Broken(f"server error (status {error.code})")
    if 300 <= error.code < 400:
        raise InputError(
            f"{wanted.address}: the server redirects too often or to an address that is not http "
            "or https; nothing was downloaded"
        )
    raise InputError(
        f"{wanted.address}: the server refused the download (status {error.code}); if the file "
        "has moved, put it on a mirror and set ELMAN_DATA_URL"
    )


class _Redirects(HTTPRedirectHandler):
    """Follows a few redirects, to http and https only."""

    max_redirections = 5

    def redirect_request(self, req: Any, fp: Any, *given: Any) -> Request | None:
        address = given[-1]
        check_address(address, secure=urlsplit(req.full_url).scheme == "https")
        return super().redirect_request(req, fp, *given)


def _opener() -> OpenerDirector:
    """An opener that knows nothing but http and https."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        _Redirects(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _extent(wanted: Download, answer: Any, have: int) -> tuple[int, int]:
    """Where the answer begins, and the size of the whole file."""
    if answer.status == 206:
        span, _, whole = (
            answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        )
        first = span.partition("-")[0]
        if first == str(have) and whole.isdigit():
            return have, int(whole)
        wanted.forget()
        raise _Broken("the server sent a different range than requested")
    length = answer.headers.get("Content-Length", "")
    if not length.isdigit():
        raise InputError(
            f"{wanted.address}: the server does not say how large the file is; download it with "
            "another program"
        )
    return 0, int(length)


def _marks(answer: Any) -> dict[str, Any]:
    return {"etag": answer.headers.get("ETag"), "modified": answer.headers.get("Last-Modified")}


def _validator(wanted: Download) -> str:
    """What `If-Range` needs; "" if the server gave nothing that identifies the file."""
    with suppress(OSError, ValueError, AttributeError):
        marks = json.loads(wanted.marks.read_text(encoding="utf-8"))
        tag = marks.get("etag") or ""
        return tag if tag.startswith('"') else marks.get("modified") or ""  # W/"…" is too weak
    return ""


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
