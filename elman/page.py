"""One self-contained HTML page: text, tables and figures, without a server or a network.

Takes strings, rows and matplotlib figures, gives the page as a string. Called by reports.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
h1, h2 { line-height: 1.2 } h2 { margin-top: 2.5rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #ddd; text-align: left }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1rem 0 } figcaption { color: #555; font-size: .9rem }
svg { max-width: 100%; height: auto }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto }
"""


class Page:
    """A page that grows from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._figures = 0

    def heading(self, text: str) -> None:
        """A new section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """Plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def lines(self, lines: Sequence[str]) -> None:
        """Lines as they are, in a fixed pitch."""
        self._parts.append(f"<pre>{escape(chr(10).join(lines))}</pre>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; all columns but the first hold numbers."""
        kinds = ["", *[' class="number"'] * (len(header) - 1)]
        cells = "".join(f"<th{k}>{escape(c)}</th>" for k, c in zip(kinds, header, strict=True))
        self._parts.append(f"<table><thead><tr>{cells}</tr></thead><tbody>")
        for row in rows:
            cells = "".join(f"<td{k}>{escape(c)}</td>" for k, c in zip(kinds, row, strict=True))
            self._parts.append(f"<tr>{cells}</tr>")
        self._parts.append("</tbody></table>")

    def figure(self, figure: Any, caption: str) -> None:
        """A matplotlib figure, drawn as SVG inside the page."""
        import matplotlib

        self._figures += 1
        # Names of shapes from a fixed seed, so that the same page comes out the same.
        with matplotlib.rc_context({"svg.hashsalt": f"figure {self._figures}"}):
            drawn = io.StringIO()
            figure.savefig(drawn, format="svg", metadata={"Date": None})
        svg = drawn.getvalue()
        svg = svg[svg.index("<svg") :]
        self._parts.append(
            f'<figure role="img" aria-label="{escape(caption)}">{svg}'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def html(self) -> str:
        """The whole page."""
        title = escape(self._title)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="icon" href="data:,"><style>{_STYLE}</style></head>'
            f"<body><h1>{title}</h1>\n" + "\n".join(self._parts) + "\n</body></html>\n"
        )
