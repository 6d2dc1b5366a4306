"""Docstrings of commands as help texts that flow: lines are broken by the terminal, not by us.

    A run is saved while it        →   A run is saved while it is trained …
    is trained …

Takes a docstring, gives it with every paragraph on one line; called where commands are registered.
What is indented under "For example:" stays as it is.
"""

import inspect
import re

_PARAMETERS = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
_BREAK = "\0"  # stands for a line break that stays


def flowing(docstring: str) -> str:
    """The same text with one line per paragraph and per parameter."""
    description, *rest = _PARAMETERS.split(inspect.cleandoc(docstring), maxsplit=1)
    paragraphs = [_joined(paragraph) for paragraph in re.split(r"\n\n+", description.strip())]
    text = "\n\n".join(paragraphs)
    for parameters in rest:
        lines = re.sub(r"(?<=\S)\n {4,}(?=\S)", " ", _marked(parameters))
        text += "\n\nParameters\n----------\n" + lines.replace(_BREAK, "\n    ")
    return text


def _marked(parameters: str) -> str:
    """The line breaks that stay: between the name of a parameter and what is said of it."""
    return re.sub(r"^(\S+)\n {4,}", rf"\1{_BREAK}", parameters, flags=re.MULTILINE)


def _joined(paragraph: str) -> str:
    indented = any(line.startswith(" ") for line in paragraph.split("\n"))
    return paragraph if indented else " ".join(paragraph.split("\n"))
