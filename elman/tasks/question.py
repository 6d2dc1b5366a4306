"""What a question is: a request, the function that answers it, and the answer.

    @dataclass(frozen=True, kw_only=True)
    class Suggest:
        '''Suggest the next words, like a phone keyboard.'''

        text: str = asked("The text typed so far.", kind=ARGUMENT, default="")
        top: int = asked("The number of suggestions.", default=5, at_least=1, limit="top")

    QUESTIONS = {"suggest": Question(Suggest, suggest)}

Every task has its questions in `questions.py`. Each fact is written there once: the flags of the
command and its --json, the HTTP route with its schema, and the form of the page are derived from
it. Called by `Trained.ask`, `cli/ask.py` and `studio/questions.py`; the caller supplies progress
and limits. Answers are printed as aligned tables for people, or as tab-separated columns for
programs.
"""

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from elman.errors import InputError, nearest
from elman.evaluation.measures import Progress, silent
from elman.notebooks import Table, Tabular, records_table
from elman.tasks.arguments import check_list, check_one_text
from elman.text.reader import Document

TEXT = "text"  # one text: a command reads it from FILE, from standard input (-) or from --text
TEXTS = "texts"  # several: a command reads one per line
ARGUMENT = "argument"  # the text follows the run on the command line
STDIN = "stdin"  # a flag; - reads standard input
NAME = "name"  # the name of the text in messages: the command passes the file name; no flag
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
    """Define a field of a request; without a default it is required and must not be empty.

    `limit`: the server's limit on this number, on the length of this list, or on the tokens
    ("prompt_tokens") or lines ("texts") of this text. `kind`: TEXT, TEXTS, ARGUMENT, STDIN or NAME.
    `terminal`: for commands and Python only, such as paths and print formats; not part of HTTP.
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
    """Define the batch size of a request, for commands and Python only."""
    about = f"The number of {what} per batch. Does not change the result."
    return asked(about, default=default, at_least=1, terminal=True)


class Answer(Tabular):
    """The answer to a question: the same data for Python, --json and HTTP, and lines to print."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Plain data: dicts, lists, texts, numbers."""

    @abstractmethod
    def lines(self) -> Iterable[str]:
        """The lines that a command prints."""

    def notes(self) -> list[str]:
        """Notes for the user, printed beside the answer."""
        return []

    def as_table(self) -> Table:
        """The first list of records in the data, for notebooks and data frames."""
        data = self.to_data()
        lists = [value for value in data.values() if _are_records(value)]
        return records_table(lists[0] if lists else [data])


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


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
        """Check the request and answer it."""
        check_request(request)
        return self.answer(trained, request, progress)


def make_request(request: type, given: dict[str, Any]) -> Any:
    """Make a request from values by name; refuse unknown names and missing values."""
    known = {one.name: one.metadata for one in fields(request)}
    for name in given:
        if name not in known:
            raise InputError(f"{name}: no such field; {nearest(name, known)}")
    for name, metadata in known.items():
        if metadata["required"] and name not in given:
            raise InputError(f"{name}: field required")
    return request(**given)


def read_request(request: type, trained: Any, document: Document, given: dict[str, Any]) -> Any:
    """Make a request whose text comes from a document; other values are given by name.

    A request that reads files in its own format has a class method `from_document(trained,
    document, given)`.
    """
    if hasattr(request, "from_document"):
        return request.from_document(trained, document, given)
    read = {TEXT: document.text, TEXTS: lines_of(document.text), NAME: document.name}
    kinds = {one.name: one.metadata["kind"] for one in fields(request)}
    found = {name: read[kind] for name, kind in kinds.items() if kind in read}
    return make_request(request, given | found)


def lines_of(text: str) -> list[str]:
    """The lines of a text, including empty ones."""
    return text.removesuffix("\n").split("\n")


def check_request(request: Any) -> None:
    """Refuse values that are empty, out of bounds or not among the choices."""
    for one in fields(request):
        value, known = getattr(request, one.name), one.metadata
        if known["kind"] in (TEXT, ARGUMENT):
            check_one_text(value, one.name)
        if known["kind"] == TEXTS:
            check_list(value, one.name, "texts")
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
