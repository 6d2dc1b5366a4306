"""Write the pages that are made from the code: docs/commands.md and docs/rooms.svg.

    python docs/generate.py

Commands come from what `elman COMMAND --help` shows, the rooms from the table below.
`tests/test_generated_docs.py` says when these pages are out of date.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "elman"
_MADE = "<!-- Written by docs/generate.py: change the code, then run it again. -->"
# The floors of the house from the top: a label, a colour, and the rooms with what each is.
FLOORS = [
    ("people", "#dbe9f6", {"cli": "one file per command", "studio": "server and page"}),
    (
        "studies",
        "#dbe9f6",
        {"elman": "train, load, compare", "experiments": "tour, published tables, variants"},
    ),
    ("text in, answers out", "#e2f0d9", {"tasks": "one path for all; a folder per task"}),
    (
        "names and files",
        "#e2f0d9",
        {"recipes": "settings by name", "figures": "drawings", "formats": "foreign files"},
    ),
    (
        "what is done with a model",
        "#fdf0d5",
        {
            "training": "one loop, regimes",
            "evaluation": "scores, surprisal",
            "decoding": "the next token",
            "insight": "what goes on inside",
        },
    ),
    ("models around models", "#fbe3d6", {"adapters": "caches, dynamic evaluation, mixtures"}),
    ("the contract", "#f8d7da", {"models": "start · predict · read · score; one family per file"}),
    ("networks", "#ece2f4", {"layers": "stacks, inputs, outputs, dropout"}),
    (
        "the material",
        "#ece2f4",
        {"counts": "n-grams, no torch", "cells": "recurrences", "batches": "ids to tensors"},
    ),
    ("text and files", "#e8e8e8", {"text": "tokenizers, corpora", "runs": "run folders"}),
    ("settings", "#e8e8e8", {"registry": "names to classes, and their options"}),
    ("", "#e8e8e8", {"config": "TOML and overrides"}),
    (
        "the ground",
        "#e8e8e8",
        {
            "errors": "what can fail",
            "state": "what was read",
            "atomic": "files, whole or not",
            "data_checks": "types of data",
            "json_safe": "data as JSON",
        },
    ),
]


# Commands -----------------------------------------------------------------------------------------


def commands_page() -> str:
    """The page of all commands."""
    from elman.cli import build_app, commands_by_group

    parts = [
        "# Commands",
        _MADE,
        "Every command has `--help` with this text. Results go to standard output, notes and "
        "progress to standard error; exit codes: 0 done, 1 something failed, 2 wrong input.",
    ]
    groups = commands_by_group()
    for group, commands in groups.items():
        rows = [
            [f"[{name}](#elman-{name.replace(' ', '-')})", about]
            for name, about in commands.items()
        ]
        parts.append(_table([group, ""], rows))
    for name in (name for commands in groups.values() for name in commands):
        command = build_app(name)
        for word in name.split():
            command = command[word]
        parts += [f"## elman {name}", *_command(command)]
    return "\n\n".join(parts) + "\n"


def _command(command: Any) -> list[str]:
    text = re.split(r"\n+Parameters\n-+\n", inspect.cleandoc(command.help))[0]
    description, _, examples = text.partition("For example:")
    parts = [description.strip(), f"```\n{inspect.cleandoc(examples.strip(chr(10)))}\n```"]
    rows = [
        [
            f"`{_spelled(argument)}`",
            " ".join(str(argument.parameter.help).split()),
            _default(argument),
        ]
        for argument in command.assemble_argument_collection(parse_docstring=True)
        if argument.show
    ]
    return [*parts, _table(["argument", "what it is", "default"], rows)]


def _spelled(argument: Any) -> str:
    """`--set VALUE …`, `RUN`."""
    name = argument.names[0]
    if not name.startswith("-") or argument.hint is bool:
        return str(name)
    several = " …" if str(argument.hint).startswith(("tuple", "list")) else ""
    return f"{name} VALUE{several}"


def _default(argument: Any) -> str:
    default = argument.field_info.default
    if default is inspect.Parameter.empty:
        several = argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL
        return "" if several else "required"
    return f"`{default}`" if default or (default == 0 and default is not False) else ""


# The picture of the rooms -------------------------------------------------------------------------


def rooms_picture() -> str:
    """The rooms floor by floor, as SVG."""
    height = 20 + 64 * len(FLOORS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height}" width="860" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" '
        'aria-label="The rooms of elman, floor by floor; imports point downwards only">',
        f'<rect width="860" height="{height}" fill="#ffffff" rx="8"/>',
    ]
    for number, (label, colour, rooms) in enumerate(FLOORS):
        parts += _floor(14 + 64 * number, label, colour, rooms)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _floor(top: int, label: str, colour: str, rooms: dict[str, str]) -> list[str]:
    parts = [f'<text x="178" y="{top + 33}" text-anchor="end" font-size="13" fill="#666">'
             f"{label}</text>"]  # fmt: skip
    width = (660 - 12 * (len(rooms) - 1)) / len(rooms)
    for place, (room, about) in enumerate(rooms.items()):
        left = 190 + place * (width + 12)
        middle = f'x="{left + width / 2:g}"'
        parts += [
            f'<rect x="{left:g}" y="{top}" width="{width:g}" height="54" rx="6" fill="{colour}" '
            'stroke="#9a9a9a"/>',
            f'<text {middle} y="{top + 23}" text-anchor="middle" font-size="16" font-weight="600" '
            f'fill="#222">{room}</text>',
            f'<text {middle} y="{top + 42}" text-anchor="middle" font-size="12.5" fill="#444">'
            f"{about}</text>",
        ]
    return parts


# Markdown -----------------------------------------------------------------------------------------


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        f"| {' | '.join(c.replace('|', chr(92) + '|') for c in row)} |" for row in lines
    )


def main() -> None:
    """Write all pages."""
    (DOCS / "commands.md").write_text(commands_page(), encoding="utf-8")
    (DOCS / "rooms.svg").write_text(rooms_picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
