"""Draw the moving picture of the README: a terminal in which elman is used, as animated SVG.

    python docs/terminal.py

Runs the commands below in an empty folder and writes what they print to docs/images/terminal.svg.
The colours are the picture's own, so it looks the same on light and dark pages. Viewers that do
not animate, and people who prefer no motion, see the whole session at once.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
# Each command, and the lines of its output that are shown: the first and the last that many.
COMMANDS = [
    ("elman train ngram --data python-docs --out runs/docs", 0, 3),
    ('elman suggest runs/docs "if the attribute is not" --top 3', 5, 0),
    ('elman surprisal runs/docs --text "a class can implement certain cats" | cut -f 3-6', 7, 0),
    ("elman evaluate runs/docs --data python-docs --with cache", 4, 0),
]
COLUMNS = 84
LINE, LEFT, TOP, CHARACTER = 20, 18, 58, 8.43  # pixels; of a font of 14 pixels
TYPING, PAUSE, OUTPUT, REST = 0.028, 0.5, 0.06, 6.0  # seconds: per character, …, at the end


@dataclass
class Line:
    """One line of the terminal."""

    text: str
    typed: bool
    start: float


def main() -> None:
    """Run the commands and write the picture."""
    PICTURE.write_text(draw(*timed(session())), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


def session() -> list[tuple[str, list[str]]]:
    """Every command with the lines of its output that are shown."""
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        for command, first, last in COMMANDS:
            lines = [line.expandtabs(14).rstrip() for line in output(command, folder)]
            kept = lines[:first] + lines[len(lines) - last :]
            shown.append((command, [line[:COLUMNS] for line in kept]))
    return shown


def output(command: str, folder: str) -> list[str]:
    """What a command prints; its notes and progress too if it prints nothing else."""
    done = subprocess.run(
        command.replace("elman", f"{shlex.quote(sys.executable)} -m elman", 1),
        shell=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(COLUMNS)},
        capture_output=True,
        text=True,
        check=True,
    )
    return (done.stdout or done.stderr).splitlines()


def timed(shown: list[tuple[str, list[str]]]) -> tuple[list[Line], float]:
    """All lines, each with the second at which it appears, and the length of the film."""
    lines: list[Line] = []
    now = 0.5
    for command, printed in shown:
        lines.append(Line(command, typed=True, start=now))
        now += TYPING * len(command) + PAUSE
        for text in printed:
            lines.append(Line(text, typed=False, start=now))
            now += OUTPUT
        lines.append(Line("", typed=False, start=now))
        now += 2 * PAUSE
    return lines[:-1], now + REST


def draw(lines: list[Line], seconds: float) -> str:
    """The picture."""
    width = round(2 * LEFT + CHARACTER * COLUMNS)
    height = TOP + LINE * len(lines) + 8
    rules = [rule for number, line in enumerate(lines) for rule in _rules(number, line, seconds)]
    body = [_text(number, line) for number, line in enumerate(lines)]
    dots = [
        f'<circle cx="{24 + 20 * place}" cy="20" r="6" fill="{colour}"/>'
        for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'aria-label="A terminal: an n-gram model is trained, suggests words, gives surprisal '
            'and is evaluated">',
            "<style>",
            "text { font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; "
            "white-space: pre; fill: #d5dae3 }",
            ".prompt { fill: #7ee787 } .command { fill: #ffffff; font-weight: 600 }",
            "@media (prefers-reduced-motion: no-preference) {",
            *rules,
            "}",
            "</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#161b22" stroke="#30363d"/>',
            *dots,
            *body,
            "</svg>",
            "",
        ]
    )


def _rules(number: int, line: Line, seconds: float) -> list[str]:
    """How a line appears: at once, or character by character."""
    start = 100 * line.start / seconds
    appears = [
        f"@keyframes p{number} {{ 0%, {start:.2f}% {{ opacity: 0 }} "
        f"{start + 0.01:.2f}%, 100% {{ opacity: 1 }} }}",
        f"#p{number} {{ animation: p{number} {seconds:.1f}s step-end infinite }}",
    ]
    if not line.typed:
        return appears
    end = 100 * (line.start + TYPING * len(line.text)) / seconds
    characters = len(line.text)
    return [
        *appears,
        f"@keyframes l{number} {{ 0%, {start:.2f}% {{ clip-path: inset(0 100% 0 0); "
        f"animation-timing-function: steps({characters}) }} "
        f"{end:.2f}%, 100% {{ clip-path: inset(0 0 0 0) }} }}",
        f"#l{number} {{ animation: l{number} {seconds:.1f}s infinite }}",
    ]


def _text(number: int, line: Line) -> str:
    height = TOP + LINE * number
    if not line.typed:
        return f'<text id="p{number}" x="{LEFT}" y="{height}">{escape(line.text)}</text>'
    return (
        f'<text id="p{number}" x="{LEFT}" y="{height}" class="prompt">$</text>'
        f'<text id="l{number}" x="{LEFT + 2 * CHARACTER:.1f}" y="{height}" class="command">'
        f"{escape(line.text)}</text>"
    )


if __name__ == "__main__":
    main()
