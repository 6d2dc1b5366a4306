"""A self-contained HTML page: text, tables and figures; it needs no server and no network.

Takes strings, rows, matplotlib figures and drawings, gives the page as a string. Called by reports.
A drawing is data that the drawing module of the studio (`studio/static/draw.js`) renders when the
page opens: it works with mouse and keyboard, and follows the light or dark mode.
"""

import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

_STATIC = Path(__file__).parent.parent / "studio" / "static"

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

# Colours of draw.css, for a page that has drawings.
_STYLE_WITH_DRAWINGS = """
body { color: var(--draw-ink); background: var(--draw-paper); max-width: 72rem }
th, td { border-color: var(--draw-grid) } pre { background: var(--heat-low) }
details.section { margin: 1rem 0; border-top: 1px solid var(--draw-grid) }
.narrow { display: inline-block; width: min(100%, 34rem); margin-right: 1rem;
          vertical-align: top }
details.section > summary { font-size: 1.2rem; font-weight: 600; padding: .6rem 0; cursor: pointer }
.note { color: var(--draw-muted) }
"""
# Render the visible drawings now, and those in a folded section when it is opened.
_MOUNT = """
const drawings = JSON.parse(document.getElementById("drawings").textContent);
const kinds = { curves, panels, heatMap, bars, colouredText };
function drawIn(part) {
  for (const place of part.querySelectorAll("[data-drawing]:empty")) {
    const { kind, arguments: given } = drawings[place.getAttribute("data-drawing")];
    const folded = part === document && place.closest("details:not([open])");
    if (!folded) place.append(kinds[kind](given));
  }
}
for (const section of document.querySelectorAll("details.section")) {
  section.addEventListener("toggle", () => drawIn(section));
}
addEventListener("beforeprint", () => document.querySelectorAll("details.section").forEach(drawIn));
drawIn(document);
"""
# The page fetches nothing, whatever its content.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


class Page:
    """A page that grows from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._figures = 0
        self._drawings: list[dict[str, Any]] = []

    def heading(self, text: str) -> None:
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

    def lines(self, lines: Sequence[str]) -> None:
        """Preformatted lines, in a monospaced font."""
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

    def markup(self, html: str) -> None:
        """Raw HTML; the caller escapes all foreign text."""
        self._parts.append(html)

    def figure(self, figure: Any, caption: str) -> None:
        """A matplotlib figure, drawn as SVG inside the page."""
        import matplotlib

        self._figures += 1
        # Ids from a fixed seed, so that the same page gives the same bytes.
        with matplotlib.rc_context({"svg.hashsalt": f"figure {self._figures}"}):
            drawn = io.StringIO()
            figure.savefig(drawn, format="svg", metadata={"Date": None})
        svg = drawn.getvalue()
        svg = svg[svg.index("<svg") :]
        self._parts.append(
            f'<figure role="img" aria-label="{escape(caption)}">{svg}'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def note(self, text: str) -> None:
        """A note in plain text."""
        self._parts.append(f'<p class="note">{escape(text)}</p>')

    def begin_section(self, text: str, *, opened: bool) -> None:
        """Start a collapsible section, until `end_section`."""
        state = " open" if opened else ""
        self._parts.append(f'<details class="section"{state}><summary>{escape(text)}</summary>')

    def end_section(self) -> None:
        self._parts.append("</details>")

    def drawing(self, kind: str, arguments: dict[str, Any], *, wide: bool = True) -> None:
        """A drawing by a function of draw.js, from plain data; narrow ones are side by side."""
        width = "wide" if wide else "narrow"
        self._parts.append(f'<div class="{width}" data-drawing="{len(self._drawings)}"></div>')
        self._drawings.append({"kind": kind, "arguments": arguments})

    def html(self) -> str:
        title = escape(self._title)
        style = _STYLE + (self._drawing_style() if self._drawings else "")
        script = self._drawing_script() if self._drawings else ""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="icon" href="data:,"><style>{style}</style></head>'
            f"<body><h1>{title}</h1>\n" + "\n".join(self._parts) + f"\n{script}</body></html>\n"
        )

    def _drawing_style(self) -> str:
        return (_STATIC / "draw.css").read_text(encoding="utf-8") + _STYLE_WITH_DRAWINGS

    def _drawing_script(self) -> str:
        """The drawing module, the data, and the code that connects them."""
        data = json.dumps(self._drawings, ensure_ascii=False, allow_nan=False)
        data = data.replace(
            "<", "\\u003c"
        )  # a text may contain anything, even the closing tag of this element
        module = (_STATIC / "draw.js").read_text(encoding="utf-8")
        return (
            '<script type="application/json" id="drawings">'
            f"{data}</script>\n"
            f'<script type="module">\n{module}\n{_MOUNT}</script>'
        )
