"""The files of the studio page: found once, when the server starts, and served by exact name.

A path that a client sends is looked up among their names; it is never made into a path on disk.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
_KEPT = {"Cache-Control": "no-cache"}  # asked for anew, so that an update is seen


def page_files(folder: Path = STATIC) -> dict[str, Path]:
    """Every file of the page under the path that it is asked for by; the page itself at `/`."""
    files = {
        f"/{path.relative_to(folder).as_posix()}": path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    if "/index.html" in files:
        files["/"] = files["/index.html"]
    return files


def add_pages(app: FastAPI, files: dict[str, Path]) -> None:
    """A route for every file."""

    async def give(request: Request) -> Response:
        path = files[request.scope["route"].path]
        return Response(path.read_bytes(), media_type=_type_of(path), headers=_KEPT)

    for name in files:
        app.add_api_route(name, give, methods=["GET", "HEAD"], include_in_schema=False)


def _type_of(path: Path) -> str:
    return _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
