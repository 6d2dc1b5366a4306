"""The files of the studio page, and `/docs`, the reference of the routes.

The server lists the files once at the start and serves them by exact name: a path from a client is
only compared with these names and never opened as a path on disk. The reference is generated from
the OpenAPI description. It has no scripts and loads nothing from other servers.
"""

import mimetypes
from html import escape
from pathlib import Path
from typing import Any

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
_KEPT = {"Cache-Control": "no-cache"}  # browsers check for updates every time


def page_files(folder: Path = STATIC) -> dict[str, Path]:
    """Every file of the page by its URL path; the page itself is at `/`."""
    files = {
        f"/{path.relative_to(folder).as_posix()}": path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    if "/index.html" in files:
        files["/"] = files["/index.html"]
    return files


def add_pages(app: FastAPI, files: dict[str, Path]) -> None:
    """Add a route for every file."""

    async def give(request: Request) -> Response:
        path = files[request.scope["route"].path]
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
        return Response(path.read_bytes(), media_type=kind, headers=_KEPT)

    for name in files:
        app.add_api_route(name, give, methods=["GET", "HEAD"], include_in_schema=False)


# The reference ------------------------------------------------------------------------------------


def reference_page(description: dict[str, Any]) -> str:
    """A page that describes every route and its fields."""
    schemas = description.get("components", {}).get("schemas", {})
    routes = [
        _route(method, path, route, schemas)
        for path, methods in description["paths"].items()
        for method, route in methods.items()
    ]
    title = escape(f"{description['info']['title']} {description['info']['version']}")
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<link rel="icon" href="favicon.svg" type="image/svg+xml">\n'
        f'<title>{title}</title><link rel="stylesheet" href="draw.css">\n'
        '<link rel="stylesheet" href="studio.css">\n'
        f'</head>\n<body><main class="routes">\n<h1>{title}</h1>\n'
        '<p>Machine-readable: <a href="openapi.json">openapi.json</a>.</p>\n'
        + "\n".join(routes)
        + "\n</main></body>\n</html>\n"
    )


def _route(method: str, path: str, route: dict[str, Any], schemas: dict[str, Any]) -> str:
    about = escape(route.get("description") or route.get("summary", ""))
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {})
    fields = _fields(_resolve(body.get("schema", {}), schemas), schemas) if body else ""
    verb = f'<span class="method">{escape(method.upper())}</span>'
    heading = f"<code>{verb} {escape(path)}</code>"
    return f"<section><h2>{heading}</h2>\n<p>{about}</p>\n{fields}</section>"


def _fields(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(field, schemas))}</td>"
        f"<td>{'required' if name in required else escape(str(field.get('default', '')))}</td>"
        f"<td>{escape(field.get('description', ''))}</td></tr>\n"
        for name, field in schema.get("properties", {}).items()
    )
    head = "<tr><th>field</th><th>type</th><th>default</th><th></th></tr>"
    return f'<table class="table"><thead>{head}</thead><tbody>\n{rows}</tbody></table>\n'


def _resolve(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return schemas[reference.rpartition("/")[2]] if reference else schema


def _type(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    schema = _resolve(schema, schemas)
    if "anyOf" in schema:
        return " or ".join(_type(one, schemas) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), schemas)}"
    return str(schema.get("type", "any"))
