"""Make the command of a question: flags come from its request, output comes from its answer.

    elman tag RUN (FILE | - | --text TEXT) [--columns] [--batch-size N] [--json]

The command line calls `make_command` for every question without a file of its own here. Commands
that do more share these parts: `make_flags`, `open_run`, `ask` and `print_answer`.
"""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, field, fields, make_dataclass
from inspect import Parameter as Argument
from inspect import Signature, getdoc
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from cyclopts import Parameter

from elman.cli.arguments import (
    Adapters,
    GivenText,
    InputFile,
    Json,
    Run,
    Threads,
    WholeNumber,
    read_given,
    use_threads,
)
from elman.cli.output import counted, note, print_json
from elman.errors import InputError
from elman.runs.manifest import NoSuchRun
from elman.tasks import TASKS
from elman.tasks.question import (
    ARGUMENT,
    NAME,
    STDIN,
    TEXT,
    TEXTS,
    Answer,
    Question,
    make_request,
    read_request,
)
from elman.tasks.task import load
from elman.text.file_shapes import looks_like
from elman.text.reader import Document, read_standard_input

_FILE = " A file, or - for standard input."


def make_command(name: str) -> Callable[..., None]:
    """Make the command that asks a run this question."""
    entry = next(TASKS[task] for task in TASKS if name in TASKS[task].questions)
    question: Question = entry.load_questions()[name]
    request = question.request
    # Questions that only some language models answer do not work with adapters.
    of_any_model = question.able is Question.able and name in TASKS["language-modelling"].questions
    signature = _signature(request, adapters=of_any_model)

    def command(*placed: Any, **given: Any) -> None:
        bound = signature.bind(*placed, **given)
        bound.apply_defaults()
        arguments = bound.arguments
        values = given_values(arguments.get("flags"))
        if argument := field_of_kind(request, ARGUMENT):
            values[argument.name] = _value(arguments[argument.name])
        document = None
        if _reads_files(request):
            document = _read(request, arguments["file"], arguments.get("text"), values)
        use_threads(arguments["threads"])
        trained = open_run(arguments["run"], name, arguments.get("with_", ()))
        print_answer(ask(trained, name, values, document), arguments["json"])

    command.__signature__ = signature  # type: ignore[attr-defined]  # read by cyclopts
    command.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    command.__name__ = name
    command.__doc__ = _help_text(name, request)
    return command


def _signature(request: type, *, adapters: bool) -> Signature:
    """The arguments of a command: the run, the input, the flags of the request."""
    places, flags, made = [_place("run", Run)], [], make_flags(request)
    of_text, argument = field_of_kind(request, TEXT, TEXTS), field_of_kind(request, ARGUMENT)
    if of_text is not None:
        flags.append(_flag("text", GivenText, None))
    if _reads_files(request):
        about = of_text.metadata["about"] if of_text else "The questions to answer."
        of_file = Annotated[InputFile | None, Parameter(help=about + _FILE)]
        places.append(_place("file", of_file, None))
    if argument is not None:
        helped = Annotated[InputFile, Parameter(help=argument.metadata["about"])]
        places.append(_place(argument.name, helped, argument.default))
    if fields(made):
        flags.append(_flag("flags", made | None, None))
    if adapters:
        flags.append(_flag("with_", Adapters, ()))
    flags += [_flag("threads", Threads, None), _flag("json", Json, False)]
    return Signature([*places, *flags])


def _reads_files(request: type) -> bool:
    """Whether the input may come from a file."""
    return hasattr(request, "from_document") or field_of_kind(request, TEXT, TEXTS) is not None


def field_of_kind(request: type, *kinds: str) -> Field[Any] | None:
    """Find the first field of a request with one of these kinds."""
    return next((one for one in fields(request) if one.metadata["kind"] in kinds), None)


def make_flags(request: type, without: Collection[str] = ()) -> Any:
    """Make a dataclass of flags from the fields of a request; None means: not given."""
    hints = get_type_hints(request)
    made = []
    for one in fields(request):
        if one.metadata["kind"] in (TEXT, TEXTS, ARGUMENT, NAME) or one.name in without:
            continue
        hint = _typed(hints[one.name])
        if hint is None:
            continue
        default = one.default if one.default is not MISSING else None
        shown = Parameter(
            help=one.metadata["about"],
            allow_leading_hyphen=one.metadata["kind"] == STDIN,
            negative=f"--no-{one.name.replace('_', '-')}" if default is True else "",
        )
        made.append((one.name, Annotated[hint | None, shown], field(default=default)))
    # Without a module, cyclopts treats the class as a builtin and ignores its fields.
    namespace = {"__module__": __name__}
    name = f"{request.__name__}Flags"
    return Parameter(name="*")(make_dataclass(name, made, kw_only=True, namespace=namespace))


def _typed(hint: Any) -> Any:
    """The type of a flag: one text where several could be given; None if no flag can express it."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if str in parts:
        return str
    if hint in (int, int | None):
        return WholeNumber
    if get_origin(hint) is list:
        return tuple[str, ...] if get_args(hint) == (str,) else None
    return hint


def given_values(flags: Any) -> dict[str, Any]:
    """The given flags by the names of the request's fields; - is replaced by standard input."""
    values = {} if flags is None else vars(flags)
    return {name: _value(value) for name, value in values.items() if value is not None}


def _value(value: Any) -> Any:
    if value == "-":
        return read_standard_input().text.removesuffix("\n")
    return [*value] if isinstance(value, tuple) else value


def _read(
    request: type, file: str | None, text: str | None, values: dict[str, Any]
) -> Document | None:
    """The document of a request; None if the request needs none and none was given."""
    of_text = field_of_kind(request, TEXT, TEXTS)
    if of_text is not None:
        optional = not of_text.metadata["required"]
        if optional and file is None and text is None:
            return None
        document = read_given(file, text)
        takes_columns = any(one.name == "columns" for one in fields(request))  # and says so itself
        return document if takes_columns else as_text(document)
    required = [one.name for one in fields(request) if one.metadata["required"]]
    flags = " and ".join(f"--{name}" for name in required)
    if file is not None and any(name in values for name in required):
        raise InputError(f"give either a file or {flags}, not both")
    if file is None and not all(name in values for name in required):
        raise InputError(f"give {flags}, or a file")
    return None if file is None else read_given(file, None)


def as_text(document: Document) -> Document:
    """The same document, with a warning if it is a table whose format would be read as words."""
    if document.name != "--text" and (shape := looks_like(document)):
        note(f"WARNING: {document.name} looks like {shape}; its lines are read as they are")
    return document


def open_run(run: str, name: str, adapters: tuple[str, ...] = ()) -> Any:
    """Load a run that can answer a question, wrapped in the given adapters."""
    try:
        trained: Any = load(run)
    except NoSuchRun as error:
        raise NoSuchRun(error.path, _recipe_for(name)) from None
    trained.question(name)  # refuses a run that cannot answer it
    return trained.with_adapters(adapters) if adapters else trained


def _recipe_for(question: str) -> str:
    """A recipe that trains runs for a question; "" if several tasks answer it."""
    tasks = [name for name in TASKS if question in TASKS[name].questions]
    if {*tasks} == {"language-modelling", "counting"}:
        tasks = ["counting"]
    return str(TASKS[tasks[0]].load().recipe) if len(tasks) == 1 else ""


def ask(trained: Any, name: str, values: dict[str, Any], document: Document | None = None) -> Any:
    """Ask a run a question; its text may come from a document."""
    question = trained.question(name)
    with flags_in_messages(question.request), counted(question.unit) as progress:
        if document is None:
            request = make_request(question.request, values)
        else:
            request = read_request(question.request, trained, document, values)
        return question.ask(trained, request, progress)


@contextmanager
def flags_in_messages(request: type) -> Iterator[None]:
    """In error messages, replace the name of a field by the name of its flag."""
    try:
        yield
    except InputError as error:
        first = re.match(r"\w+", str(error))
        names = {one.name for one in fields(request)}
        if first is None or first[0] not in names:
            raise
        raise InputError(f"--{first[0].replace('_', '-')}{str(error)[first.end() :]}") from None


def print_answer(answer: Answer, json: bool) -> None:
    """Print the answer as lines or as JSON, and its notes to standard error."""
    for message in answer.notes():
        note(message)
    if json:
        print_json(answer.to_data())
        return
    for line in answer.lines():
        print(line)


def _help_text(name: str, request: type) -> str:
    """The docstring of the request, with examples if it has none."""
    text = getdoc(request) or ""
    if "For example:" in text:
        return text
    examples = [f"elman {name} runs/mine FILE", f"cat FILE | elman {name} runs/mine - --json"]
    if not _reads_files(request):
        examples = [f"elman {name} runs/mine --json"]
    return "\n  ".join([f"{text}\n\nFor example:", *examples])


def _place(name: str, annotation: Any, default: Any = Argument.empty) -> Argument:
    return Argument(name, Argument.POSITIONAL_ONLY, default=default, annotation=annotation)


def _flag(name: str, annotation: Any, default: Any) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, default=default, annotation=annotation)
