"""A route `POST /v1/NAME` for every question of every task, with its schema and its limits.

Turns the request dataclass of a question into a pydantic model with the same fields plus `model`.
Unknown fields are refused and types are strict. The body of a response is `to_data()` of the
answer; the header X-Elman-Model names the model. Called by `app.py`; the page builds its forms from
`describe_questions`.
"""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from typing import Any, get_type_hints
from urllib.parse import quote

from pydantic import Field, create_model

from elman.errors import InputError
from elman.json_safe import json_safe
from elman.studio.completion_request import Strict
from elman.studio.jobs import Job
from elman.studio.limits import Limits, refuse_above
from elman.studio.served import Served, ServedModel
from elman.tasks import TASKS
from elman.tasks.question import Question


def every_question() -> dict[str, Question]:
    """The questions of all tasks by name; every name has exactly one request class."""
    found: dict[str, Question] = {}
    for task, entry in TASKS.items():
        for name, question in entry.load_questions().items():
            if found.setdefault(name, question).request is not question.request:
                raise InputError(f"task {task!r}: another task already has a question {name!r}")
    return found


def make_schema(question: Question) -> type[Strict]:
    """The pydantic model of a request; the question itself checks bounds and choices."""
    hints = get_type_hints(question.request)
    made: dict[str, Any] = {}
    for one in fields(question.request):
        known = one.metadata
        if known["terminal"]:
            continue
        extra = {"enum": [*known["choices"]], "minimum": known["at_least"], "kind": known["kind"]}
        options: dict[str, Any] = {
            "description": known["about"],
            "json_schema_extra": {key: value for key, value in extra.items() if value},
        }
        if one.default is not MISSING:
            options["default"] = one.default
        elif one.default_factory is not MISSING:
            options["default_factory"] = one.default_factory
        made[one.name] = (hints[one.name], Field(**options))
    about = question.request.__doc__
    return create_model(question.request.__name__, __base__=Strict, __doc__=about, **made)


def answering(
    model: ServedModel, question: Question, body: Strict, limits: Limits
) -> Callable[[Job], Any]:
    """The work of a request: check the limits, ask the question, return plain data."""
    names = [one.name for one in fields(question.request) if not one.metadata["terminal"]]
    request = question.request(**{name: getattr(body, name) for name in names})

    def work(job: Job) -> Any:
        check_limits(request, model.trained, limits)
        return json_safe(question.ask(model.trained, request, job.go_on).to_data())

    return work


def model_header(model: ServedModel) -> dict[str, str]:
    """The header that names the model."""
    return {"X-Elman-Model": quote(model.id)}


def check_limits(request: Any, trained: Any, limits: Limits) -> None:
    """Refuse a request above the limits."""
    given = {one.name: getattr(request, one.name) for one in fields(request)}
    size = sum(len(text) for text in _texts(given.values()))
    refuse_above("the number of characters", size, limits.text_characters)
    for one in fields(request):
        if limit := one.metadata["limit"]:
            what, size = _size(one.name, given[one.name], limit, trained)
            refuse_above(what, size, getattr(limits, limit))
    for stop in given.get("stop", ()):
        refuse_above("the length of a stop sequence", len(stop), limits.stop_characters)


def _texts(value: Any) -> Iterable[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable):
        for part in value:
            yield from _texts(part)


def _size(name: str, value: Any, limit: str, trained: Any) -> tuple[str, int]:
    """The size of a value that a limit applies to: its description and the number."""
    if isinstance(value, str) and limit == "texts":
        return f"{name}: the number of lines", value.removesuffix("\n").count("\n") + 1
    if isinstance(value, str):
        return f"{name}: the number of tokens", len(trained.tokenizer.encode_typed(value))
    if isinstance(value, list):
        return f"{name}: the number of items", len(value)
    return name, value or 0


def describe_questions(
    questions: dict[str, Question], schemas: dict[str, type[Strict]], served: Served, limits: Limits
) -> list[dict[str, Any]]:
    """Every question with its JSON schema, and the served models that answer it."""
    return [
        {
            "id": name,
            "about": question.about,
            "schema": _bounded(question, schemas[name].model_json_schema(), limits),
            "models": [model.id for model in served if name in model.questions],
        }
        for name, question in questions.items()
    ]


def _bounded(question: Question, schema: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """A schema with the limits of this server on numbers and lists."""
    for one in fields(question.request):
        described, limit = schema["properties"].get(one.name), one.metadata["limit"]
        if described is not None and limit:
            key = {"integer": "maximum", "array": "maxItems"}.get(described.get("type", ""))
            described |= {key: getattr(limits, limit)} if key else {}
    return schema
