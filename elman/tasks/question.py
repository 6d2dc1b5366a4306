"""What a question is: a request, the function that answers it, and the answer.

    @dataclass(frozen=True, kw_only=True)
    class Suggest:
        '''Suggest the next words, like a phone keyboard.'''

        text: str = asked("What was typed so far.", kind=TEXT, default="")
        top: int = asked("How many suggestions.", default=5, at_least=1, limit="top")

    QUESTIONS = {"suggest": Question(Suggest, suggest)}

Every task has its questions in `questions.py`. What is written here once becomes the flags of the
command and its --json, the HTTP route with its schema, and the form of the page. Called by
`Trained.ask`, `cli/ask.py` and `studio/questions.py`; who asks brings progress and limits along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Protocol

from elman.errors import InputError

TEXT = "text"  # one text: a command reads it from FILE, from standard input (-) or from --text
TEXTS = "texts"  # several: a command reads one per line

Progress = Callable[[int, int], None]  # how many more are done, of how many


def silent(more: int, total: int) -> None:
    """Progress that nobody watches."""


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
    """A field of a request, with all that is to be said of it.

    `limit`: the server's limit on this number, or on the length of this text. `kind`: TEXT or TEXTS
    where a command may read a file. `terminal`: it says how to print, so HTTP does not have it.
    """
    metadata = {
        "about": about,
        "at_least": at_least,
        "choices": tuple(choices),
        "limit": limit,
        "kind": kind,
        "terminal": terminal,
    }
    return field(default=default, default_factory=factory, metadata=metadata)


class Answer(Protocol):
    """What a question gives: the same data for Python, --json and HTTP, and lines for people."""

    def to_data(self) -> dict[str, Any]:
        """Plain data: dicts, lists, texts, numbers."""
        ...

    def lines(self) -> Iterable[str]:
        """What a terminal prints."""
        ...

    def notes(self) -> list[str]:
        """What the user should know beside the answer."""
        ...


@dataclass(frozen=True)
class Question:
    """A request and the function that answers it."""

    request: type  # a frozen dataclass whose fields are made by `asked`
    answer: Callable[[Any, Any, Progress], Answer]  # takes the trained model, request and progress
    able: Callable[[Any], bool] = lambda trained: True  # whether a trained model can answer it

    @property
    def about(self) -> str:
        """The question in one sentence."""
        return str(self.request.__doc__).splitlines()[0]

    def ask(self, trained: Any, request: Any, progress: Progress = silent) -> Answer:
        """The answer, if the request can be meant."""
        check_request(request)
        return self.answer(trained, request, progress)


def check_request(request: Any) -> None:
    """Refuse values that are out of bounds or not among the choices."""
    for one in fields(request):
        value, known = getattr(request, one.name), one.metadata
        if known["at_least"] is not None and value is not None and not value >= known["at_least"]:
            raise InputError(f"{one.name} is {value}; give at least {known['at_least']}")
        if known["choices"] and value not in known["choices"]:
            wanted = ", ".join(known["choices"])
            raise InputError(f"{one.name} is {value!r}; choose one of {wanted}")
