"""Write the pages that are made from the code: docs/commands.md and docs/rooms/*.md.

    python docs/generate.py

Commands come from what `elman COMMAND --help` shows, rooms from the docstrings of their files.
`tests/test_generated_docs.py` says when these pages are out of date.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "elman"
_MADE = "<!-- Written by docs/generate.py: change the code, then run it again. -->"
_ROOMS = {
    "ground": "what everything stands on: errors, states, settings, registries, files, pages",
    "text": "text to ids and back, readers of every kind of file, corpora; no torch",
    "runs": "run folders on disk",
    "counts": "n-grams over arrays; no torch",
    "cells": "recurrences, and the engine that runs any of them",
    "batches": "ids to tensors",
    "layers": "what models are made of",
    "models": "one family per file, behind the one contract",
    "adapters": "language models around language models",
    "evaluation": "measures of models",
    "decoding": "distributions to text",
    "training": "the loop, and what can be chosen of it",
    "insight": "what happens inside a model",
    "tasks": "text in, answers out",
    "tour": "the ladder of models on built-in corpora",
    "reproduce": "published tables, row by row",
    "studio": "the server and its page",
    "cli": "one file per command",
}


# Commands -----------------------------------------------------------------------------------------


def commands_page() -> str:
    """The page of all commands."""
    from elman.cli import COMMANDS, app

    parts = [
        "# Commands",
        _MADE,
        "Every command has `--help` with this text. Results go to standard output, notes and "
        "progress to standard error; exit codes: 0 done, 1 something failed, 2 wrong input.",
        _table(
            ["command", "what it does"],
            [[f"[{c}](#elman-{c})", _first_sentence(app[c].help)] for c in COMMANDS],
        ),
    ]
    for command in COMMANDS:
        parts += [f"## elman {command}", *_command(app[command])]
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


# Rooms --------------------------------------------------------------------------------------------


def room_pages() -> dict[str, str]:
    """The pages of all rooms, by the names of their files."""
    rooms = [name for name in _ROOMS if name == "ground" or (PACKAGE / name).is_dir()]
    pages = {f"{room}.md": _room_page(room) for room in rooms}
    rows = [[f"[{room}]({room}.md)", _ROOMS[room]] for room in rooms]
    rooms_of = (
        "From the ground up; imports point downwards only ([architecture](../architecture.md))."
    )
    pages["index.md"] = "\n\n".join(["# Rooms", _MADE, rooms_of, _table(["room", ""], rows)]) + "\n"
    return pages


def unknown_rooms() -> set[str]:
    """Rooms of the package that no page is about."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return folders - set(_ROOMS)


def _room_page(room: str) -> str:
    folder = PACKAGE if room == "ground" else PACKAGE / room
    files = sorted(folder.glob("*.py") if room == "ground" else folder.rglob("*.py"))
    parts = [f"# {room}: {_ROOMS[room]}", _MADE]
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        public = [node for node in tree.body if _is_public(node)]
        if file.name.startswith("__main__") or (file.name == "__init__.py" and not public):
            continue
        parts.append(f"## elman/{file.relative_to(PACKAGE).as_posix()}")
        parts.append(_first_sentence(ast.get_docstring(tree)))
        parts += [_table(["name", ""], [_row(node) for node in public])] if public else []
    return "\n\n".join(parts) + "\n"


def _is_public(node: ast.stmt) -> bool:
    named = isinstance(node, ast.FunctionDef | ast.ClassDef)
    return named and not node.name.startswith("_")


def _row(node: Any) -> list[str]:
    if isinstance(node, ast.ClassDef):
        about = _first_sentence(ast.get_docstring(node))
        methods = [f"`{inner.name}`" for inner in node.body if _is_public(inner)]
        return [f"class `{node.name}`", about + (f" Has {', '.join(methods)}." if methods else "")]
    return [f"`{node.name}({_arguments(node.args)})`", _first_sentence(ast.get_docstring(node))]


def _arguments(given: ast.arguments) -> str:
    """Names only: what each is stands in the file."""
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    if given.vararg:
        names.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        names.append("*")
    names += [argument.arg for argument in given.kwonlyargs]
    return ", ".join([*names, *([f"**{given.kwarg.arg}"] if given.kwarg else [])])


# Markdown -----------------------------------------------------------------------------------------


def _first_sentence(docstring: str | None) -> str:
    paragraph = inspect.cleandoc(docstring or "").split("\n\n")[0]
    text = " ".join(paragraph.split())
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text)[0]


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        f"| {' | '.join(c.replace('|', chr(92) + '|') for c in row)} |" for row in lines
    )


def main() -> None:
    """Write all pages."""
    (DOCS / "commands.md").write_text(commands_page(), encoding="utf-8")
    (DOCS / "rooms").mkdir(exist_ok=True)
    for name, page in room_pages().items():
        (DOCS / "rooms" / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
