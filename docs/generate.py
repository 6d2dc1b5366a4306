"""Write the pages that are made from the code.

    python docs/generate.py

| page | made from |
|---|---|
| commands.md | what `elman COMMAND --help` shows |
| recipes.md | the TOML files of `elman/recipes` |
| components.md | what `elman list` shows |
| python.md | the docstrings of what `import elman` offers |
| rooms.svg | the table below |

`tests/test_generated_docs.py` fails when a page is out of date.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "elman"
_MADE = "<!-- Written by docs/generate.py: change the code, then run it again. -->"
# The levels of the import order from the top: a label, a colour, and the packages of the level.
FLOORS = [
    ("interfaces", "#dbe9f6", {"cli": "one file per command", "studio": "server and page"}),
    ("import elman", "#dbe9f6", {"elman": "train, load, compare, reproduce, estimators"}),
    ("studies", "#dbe9f6", {"experiments": "tour, published tables, variants"}),
    ("tasks", "#e2f0d9", {"tasks": "from data to a trained model; one folder per task"}),
    (
        "names and files",
        "#e2f0d9",
        {"recipes": "named settings", "figures": "drawings", "formats": "ARPA, ELMo, vectors"},
    ),
    (
        "using models",
        "#fdf0d5",
        {
            "training": "one loop, regimes",
            "evaluation": "scores, surprisal",
            "decoding": "sampling, beam search",
            "insight": "gradients, gates",
        },
    ),
    ("wrappers", "#fbe3d6", {"adapters": "caches, dynamic evaluation, mixtures"}),
    (
        "language models",
        "#f8d7da",
        {"models": "start · predict · read · score; one family per file"},
    ),
    ("networks", "#ece2f4", {"layers": "stacks, inputs, outputs, dropout"}),
    (
        "building blocks",
        "#ece2f4",
        {"counts": "n-grams, no torch", "cells": "recurrences", "batches": "ids to tensors"},
    ),
    ("text and files", "#e8e8e8", {"text": "tokenizers, corpora", "runs": "run folders"}),
    ("settings", "#e8e8e8", {"registry": "components by name, and their options"}),
    ("", "#e8e8e8", {"config": "TOML and overrides"}),
    ("", "#e8e8e8", {"notebooks": "tables in notebooks"}),
    (
        "",
        "#e8e8e8",
        {
            "extras": "optional packages",
            "entry_points": "plug-in packages",
            "allocator": "memory of the process",
            "matrix_products": "MKL or oneDNN",
            "wording": "singular and plural",
        },
    ),
    (
        "foundations",
        "#e8e8e8",
        {
            "errors": "exceptions",
            "state": "model state",
            "atomic": "atomic writes",
            "data_checks": "checked types",
            "json_safe": "valid JSON",
            "mapping": "mapped files",
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
        "Every command prints this text with `--help`. Results go to standard output, notes and "
        "progress to standard error. Exit codes: 0 for success, 1 for failure, 2 for wrong input.",
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
    hints = {argument.hint, *get_args(argument.hint)}
    if not name.startswith("-") or bool in hints:
        return f"{name}, --no-{name[2:]}" if argument.field_info.default is True else str(name)
    several = " …" if str(argument.hint).startswith(("tuple", "list")) else ""
    return f"{name} VALUE{several}"


def _default(argument: Any) -> str:
    default = argument.field_info.default
    if default is inspect.Parameter.empty:
        several = argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL
        return "" if several else "required"
    return f"`{default}`" if default or (default == 0 and default is not False) else ""


# Recipes ------------------------------------------------------------------------------------------


def recipes_page() -> str:
    """All recipes by the kind of model that they train, each with its file."""
    from elman.recipes import recipe_names

    files = {name: PACKAGE / "recipes" / f"{name}.toml" for name in recipe_names()}
    kinds: dict[str, dict[str, str]] = {}
    for name, about in recipe_names().items():
        kind = tomllib.loads(files[name].read_text(encoding="utf-8"))["model"]["kind"]
        kinds.setdefault(kind, {})[name] = about
    parts = [
        "# Recipes",
        _MADE,
        "A recipe is a named set of hyperparameters: `elman train RECIPE --data PATH --out RUN`. "
        "Change single settings with `--set section.field=value`, or copy a recipe into a TOML "
        "file of your own and pass its path. Settings that a recipe does not name have their "
        "defaults. [Training](training.md) explains the settings.",
        _table(["kind of model", "recipes"], [[f"`{k}`", _links(v)] for k, v in kinds.items()]),
    ]
    for recipes in kinds.values():
        for name, about in recipes.items():
            text = files[name].read_text(encoding="utf-8")
            settings = re.sub(r"^about = .*\n+", "", text, flags=re.MULTILINE).strip()
            sentence = about[:1].upper() + about[1:]
            parts += [f"## {name}", f"{sentence}.", f"```toml\n{settings}\n```"]
    return "\n\n".join(parts) + "\n"


def _links(names: dict[str, str]) -> str:
    return ", ".join(f"[{name}](#{name})" for name in names)


# Components ---------------------------------------------------------------------------------------


def components_page() -> str:
    """Everything that can be chosen by name, as `elman list` shows it."""
    from elman.cli.list import KINDS, _members

    kinds = {kind: place for kind, place in KINDS.items() if kind != "recipes"}
    parts = [
        "# Components",
        _MADE,
        "Everything that you can choose by name, as `elman list` prints it. [Recipes](recipes.md) "
        "have their own page. [Extending](extending.md) explains how to add a component.",
        _links(kinds),
    ]
    for kind, place in kinds.items():
        rows = [[f"`{name}`", about] for name, about in _members(place).items()]
        parts += [f"## {kind}", _table(["name", "what it is"], rows)]
    return "\n\n".join(parts) + "\n"


# Python -------------------------------------------------------------------------------------------

# The classes that `elman.load` returns.
_TRAINED = [
    "elman.tasks.language_modelling.trained:TrainedModel",
    "elman.tasks.tagging.task:TrainedTagger",
    "elman.tasks.classification.trained:TrainedClassifier",
    "elman.tasks.answering.task:TrainedAnswerer",
    "elman.tasks.translation.trained:TrainedTranslator",
    "elman.tasks.embedding.task:TrainedEmbedding",
]


def python_page() -> str:
    """What `import elman` offers, and the classes that `elman.load` returns."""
    import elman

    offered = {name: getattr(elman, name) for name in elman.__all__ if name != "__version__"}
    trained = {place.split(":")[1]: _found(place) for place in _TRAINED}
    functions = {name: item for name, item in offered.items() if inspect.isfunction(item)}
    classes = {n: i for n, i in offered.items() if n not in functions and n not in trained}
    parts = [
        "# Python",
        _MADE,
        "`import elman` offers the names on this page. [Training](training.md), "
        "[Generation](generation.md) and the other pages of the guide have examples.",
        "## Functions",
        *(part for name, item in functions.items() for part in _documented(f"elman.{name}", item)),
        "## Classes",
        *(part for name, item in classes.items() for part in _class(f"elman.{name}", item)),
        "## Trained models",
        "`elman.train` and `elman.load` return one of these classes, depending on the task.",
        *(part for name, item in trained.items() for part in _class(name, item)),
    ]
    return "\n\n".join(parts) + "\n"


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _class(name: str, item: type) -> list[str]:
    """A class: its docstring and its public members, without those of the base class."""
    from elman.tasks.trained import Trained

    base = Trained if issubclass(item, Trained) and item is not Trained else object
    note = ["It also has the members of [elman.Trained](#elmantrained)."] if base is Trained else []
    members = [
        part
        for member, value in inspect.getmembers(item)
        if not member.startswith("_") and _is_documented(value)
        if getattr(base, member, None) is not value
        for part in _documented(f"{item.__name__}.{member}", value, heading="####")
    ]
    return [f"### {name}", _prose(item), *note, *members]


def _is_documented(value: Any) -> bool:
    value = value.fget if isinstance(value, property) else value
    ours = getattr(value, "__module__", "") or ""
    return ours.startswith("elman") and inspect.isroutine(value) and bool(inspect.getdoc(value))


def _documented(name: str, item: Any, heading: str = "###") -> list[str]:
    if isinstance(item, property):
        return [f"{heading} {name}", f"Property. {_prose(item)}"]
    return [f"{heading} {name}", f"```python\n{_signature(name, item)}\n```", _prose(item)]


def _prose(item: Any) -> str:
    return (inspect.getdoc(item) or "").strip()


def _signature(name: str, function: Callable[..., Any]) -> str:
    """`name(a: int, *, b: str = "x") -> int`, on several lines if it is long."""
    signature = inspect.signature(function)
    words: list[str] = []
    starred = False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            words.append("*")
        starred |= parameter.kind in (
            inspect.Parameter.KEYWORD_ONLY,
            inspect.Parameter.VAR_POSITIONAL,
        )
        words.append(_parameter(parameter))
    result = signature.return_annotation
    arrow = "" if result is inspect.Signature.empty else f" -> {_annotation(result)}"
    line = f"{name}({', '.join(words)}){arrow}"
    if len(line) <= 88:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){arrow}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    typed = parameter.annotation is not inspect.Parameter.empty
    if typed:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        text += f" = {_value(parameter.default)}" if typed else f"={_value(parameter.default)}"
    return text


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _value(value: Any) -> str:
    """A default value without addresses in memory."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return "…" if value.__name__ == "<lambda>" else str(value.__name__)
    return "…" if " at 0x" in repr(value) else repr(value)


# The picture of the packages ----------------------------------------------------------------------


def rooms_picture() -> str:
    """The packages by level, as SVG."""
    height = 20 + 64 * len(FLOORS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height}" width="860" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" '
        'aria-label="The packages of elman by level; imports point downwards only">',
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


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "recipes.md": recipes_page,
    "components.md": components_page,
    "python.md": python_page,
    "rooms.svg": rooms_picture,
}


def main() -> None:
    """Write all pages."""
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
