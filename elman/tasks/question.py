"""What a question is: a request, the function that answers it, and the answer.

    @dataclass(frozen=True, kw_only=True)
    class Suggest:
        '''Suggest the next words, like a phone keyboard.'''

        text: str = asked("What was typed so far.", kind=ARGUMENT, default="")
        top: int = asked("How many suggestions.", default=5, at_least=1, limit="top")

    QUESTIONS = {"suggest": Question(Suggest, suggest)}

Every task has its questions in `questions.py`. Each fact is written there once: the flags of the
command and its --json, the HTTP route with its schema, and the form of the page are made from it.
Called by `Trained.ask`, `cli/ask.py` and `studio/questions.py`; the caller brings progress and
limits. Answers are printed as aligned tables for people, or as columns with tabs for programs.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from elman.errors import InputError, nearest
from elman.evaluation.measures import Progress, silent
from elman.text.reader import Document

TEXT = "text"  # one text: a command reads it from FILE, from standard input (-) or from --text
TEXTS = "texts"  # several: a command reads one per line
ARGUMENT = "argument"  # the text itself comes after the run on the command line
STDIN = "stdin"  # a flag; - reads standard input
NAME = "name"  # what messages call the text: the command gives the name of the file; no flag
_NUMBER = re.compile(r"[-+−]?[\d.,]+(e-?\d+)?|[–∞]")


def asked(
    about: str,
    *,
    default: Any = MISSING,
    factory: Any = MISSING,
    at_least: float | None = None,
    choices: Iterable[str] = (),
    limit: str = "",
    kind: str = "",
    terminal: bool = False,
) -> Any:
    """A field of a request; without a default it is required, and must not be empty.

    `limit`: the server's limit on this number, on the length of this list, or on the tokens
    ("prompt_tokens") or lines ("texts") of this text. `kind`: TEXT, TEXTS, ARGUMENT, STDIN or NAME.
    `terminal`: for commands and Python only, like where a file is or how to print; no part of HTTP.
    """
    metadata = {
        "about": about,
        "at_least": at_least,
        "choices": tuple(choices),
        "limit": limit,
        "kind": kind,
        "terminal": terminal or kind == NAME,
        "required": default is MISSING and factory is MISSING,
    }
    return field(default=default, default_factory=factory, metadata=metadata)


def asked_batch_size(what: str, default: int = 32) -> Any:
    """The field of a request that says how many are read side by side; commands and Python only."""
    about = f"How many {what} are read side by side. Never changes the result."
    return asked(about, default=default, at_least=1, terminal=True)


class Answer(ABC):
    """What a question gives: the same data for Python, --json and HTTP, and lines for people."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Plain data: dicts, lists, texts, numbers."""

    @abstractmethod
    def lines(self) -> Iterable[str]:
        """What a terminal prints."""

    def notes(self) -> list[str]:
        """What the user should know beside the answer."""
        return []


@dataclass(frozen=True)
class Question:
    """A request and the function that answers it."""

    request: type  # a frozen dataclass whose fields are made by `asked`
    answer: Callable[[Any, Any, Progress], Answer]  # takes the trained model, request and progress
    able: Callable[[Any], bool] = lambda trained: True  # whether a trained model can answer it
    unit: str = "texts"  # what progress counts

    @property
    def about(self) -> str:
        """The question in one sentence."""
        return str(self.request.__doc__).splitlines()[0]

    def ask(self, trained: Any, request: Any, progress: Progress = silent) -> Answer:
        """The answer; requests that make no sense are refused."""
        check_request(request)
        return self.answer(trained, request, progress)


def make_request(request: type, given: dict[str, Any]) -> Any:
    """A request from values by name; misspelled and missing ones are refused."""
    known = {one.name: one.metadata for one in fields(request)}
    for name in given:
        if name not in known:
            raise InputError(f"{name}: no such field; {nearest(name, known)}")
    for name, metadata in known.items():
        if metadata["required"] and name not in given:
            raise InputError(f"{name}: field required")
    return request(**given)


def read_request(request: type, trained: Any, document: Document, given: dict[str, Any]) -> Any:
    """A request whose text is a document; other values are given by name.

    A request that reads files of its own form has a class method `from_document(trained, document,
    given)`.
    """
    if hasattr(request, "from_document"):
        return request.from_document(trained, document, given)
    read = {TEXT: document.text, TEXTS: lines_of(document.text), NAME: document.name}
    kinds = {one.name: one.metadata["kind"] for one in fields(request)}
    found = {name: read[kind] for name, kind in kinds.items() if kind in read}
    return make_request(request, given | found)


def lines_of(text: str) -> list[str]:
    """The lines of a text, empty ones too."""
    return text.removesuffix("\n").split("\n")


def check_request(request: Any) -> None:
    """Refuse values that are empty, out of bounds or not among the choices."""
    for one in fields(request):
        value, known = getattr(request, one.name), one.metadata
        if known["required"] and isinstance(value, str | Sequence) and not len(value):
            raise InputError(f"{one.name} is empty; give some text")
        if known["at_least"] is not None and value is not None and not value >= known["at_least"]:
            raise InputError(f"{one.name} is {value}; give at least {known['at_least']}")
        if known["choices"] and value not in known["choices"]:
            wanted = ", ".join(known["choices"])
            raise InputError(f"{one.name} is {value!r}; choose one of {wanted}")


def aligned_lines(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """An aligned table; columns of numbers are aligned right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[c]) for row in [list(header), *cells]) for c in range(len(header))]
    numeric = [all(_NUMBER.fullmatch(row[c]) for row in cells) for c in range(len(header))]
    lines = []
    for row in [list(header), ["─" * width for width in widths], *cells]:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(aligned).rstrip())
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:,.4g}" if abs(value) < 10 else f"{value:,.2f}"
    return str(value)
