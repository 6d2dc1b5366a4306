"""The command line: one file per command; each parses, calls a public function, and prints.

`GROUPS` lists the commands without importing anything. Only the file of the called command is
imported, so `elman --help` does not import torch. Every question of a task is a command too and
needs no line here (`ask.py`). Errors become one line and an exit code: 1 for a failure, 2 for wrong
input. `system_errors.py` sorts the errors of the operating system into these two.
"""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from typing import Any

from cyclopts import (
    App,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    UnknownCommandError,
    UnusedCliTokensError,
)

from elman.cli.system_errors import system_problem
from elman.errors import ElmanError, InputError, nearest
from elman.tasks import TASKS
from elman.version import __version__

# Commands by group, each with the first sentence of its docstring. Commands with an empty text are
# questions of tasks, which bring their own summary. Questions that are not listed here appear under
# "Tasks".
GROUPS = {
    "Train and plan": {
        "train": "Train a model on a text or a dataset and save it as a run folder.",
        "counts": "Count the n-grams of a text and write them as Parquet files of ids and counts.",
        "plan": "Estimate what a training costs on this machine: operations, memory, minutes.",
        "data": "Describe data: what it is, how much, vocabulary, labels, possible problems.",
        "data get": "Download a public corpus: resumable, verified, with its licence.",
        "list": "List the components you can choose: recipes, cells, tokenizers and more.",
    },
    "Use": {
        "generate": "Continue a prompt with a trained model.",
        "suggest": "",
    },
    "Measure": {
        "evaluate": "Evaluate a run on a dataset: perplexity, or the measures of its task.",
        "compare": "Compare several runs of one task on the same data.",
        "surprisal": "Compute the surprisal, entropy and rank of every word in a text.",
        "score": "",
        "minimal-pairs": "Measure how often a model prefers the good sentence of a minimal pair.",
        "reading-times": "Measure how well the surprisal of models predicts reading times.",
    },
    "Look inside": {
        "inspect": "Look inside neural runs while they read a text.",
        "explain": "",
        "distribution": "",
    },
    "Tasks": {
        "tag": "",
        "classify": "",
        "answer": "",
        "translate": "Translate, summarise or caption: print one output for every source.",
        "embed": "Compute a vector for every word of a text, in the context of its line.",
        "nearest": "",
    },
    "Serve and exchange": {
        "serve": "Serve trained models over HTTP: a web page and an OpenAI-compatible API.",
        "quantise": "Save a language model with 8-bit numbers.",
        "export": "Write a trained model in a format that other programs read.",
        "import": "Import an ARPA file or published ELMo weights as a run folder.",
        "arpa merge": "Interpolate several count models into one ARPA file.",
        "arpa prune": "Make a count model smaller: remove the n-grams that matter least.",
    },
    "Studies": {
        "tour": "Train a ladder of models on two built-in corpora and show what each step gains.",
        "reproduce": "Reproduce published result tables: list them, run rows, compare.",
        "study regimes": "Compare training regimes: how much worse is a model on its own words?",
        "study lengths": "Score translation runs on short and on long sources.",
        "study ablation": "Compare recurrent cells, complete and with one gate removed.",
        "study vary": "Train every combination of given settings and compare them in one table.",
        "study race": "Train a recipe within a budget of operations and compare perplexities.",
        "study cells": "Train networks that differ only in their cell, and look inside them.",
    },
    "Set up": {
        "completion": "Print a script that completes commands and options in your shell.",
    },
}
# Names of 0.1 that still work.
RENAMED = {
    "summarise": "translate",
    "caption": "translate",
    "vary": "study vary",
    "regimes": "study regimes",
    "lengths": "study lengths",
}
_ABOUT = {
    "": "Recurrent language models, from counting words to attention. New here? elman tour",
    "study": "Train several models and compare them.",
    "arpa": "Merge and prune count models.",
}
_PARAMETERS = re.compile(r"^Parameters\n-+\n", re.MULTILINE)
_BREAK = "\0"  # marks a line break that must stay


def build_app(*loaded: str) -> App:
    """Build the program; only these commands are loaded, the others are a name and a summary."""
    app = App(
        name="elman",
        help=_ABOUT[""],
        version=__version__,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,  # `run` reports it
        # "--no-…" forms and empty defaults would only make the help longer.
        default_parameter=Parameter(negative="", show_default=lambda value: value or None),
    )
    last_group = Group("Options", sort_key=len(GROUPS))
    app["--help"].group = app["--version"].group = (last_group,)
    for place, (title, commands) in enumerate(commands_by_group().items()):
        group = Group(title, sort_key=place)
        for row, (name, summary) in enumerate(commands.items()):
            above, _, last = name.rpartition(" ")
            options: dict[str, Any] = {"sort_key": row, "version_flags": []}
            if not above:
                options["group"] = group
            elif above not in app:
                app.command(App(name=above, help=_ABOUT[above], group=group, **options))
            if name in loaded:
                command = App(name=last, **options)
                command.default(load_command(name))
            else:
                command = App(name=last, help=summary, **options)
            (app[above] if above else app).command(command)
    return app


def commands_by_group() -> dict[str, dict[str, str]]:
    """All commands with their summaries, including the questions of tasks."""
    asked: dict[str, str] = {}
    for task in TASKS:
        with suppress(InputError):  # a broken package is reported when its task is used
            asked |= TASKS[task].questions
    groups = {
        title: {name: summary or asked[name] for name, summary in commands.items()}
        for title, commands in GROUPS.items()
    }
    listed = [name for commands in groups.values() for name in commands]
    groups["Tasks"] |= {name: about for name, about in asked.items() if name not in listed}
    return groups


def command_names() -> list[str]:
    """The names of all commands."""
    return [name for commands in commands_by_group().values() for name in commands]


def called_command(arguments: list[str]) -> str:
    """The name of the command that is called; "" if there is none."""
    words = [word for word in arguments if not word.startswith("-")]
    names = command_names()
    return next((name for name in (" ".join(words[:2]), *words[:1]) if name in names), "")


def load_command(name: str) -> Callable[..., None]:
    """The function of a command, with one line per paragraph in its help text.

    A command, its function and its file have the same name. If the name is a Python keyword, the
    function and the file end in an underscore.
    """
    function: Callable[..., None]
    if any(commands.get(name) for commands in GROUPS.values()):
        word = name.rpartition(" ")[2].replace("-", "_")
        word += "_" * iskeyword(word)
        function = getattr(import_module(f"elman.cli.{word}"), word)
    else:
        function = import_module("elman.cli.ask").make_command(name)
    function.__doc__ = flowing(function.__doc__ or "")
    return function


def main() -> None:
    """Run the command line and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # until the end
        # A character that the terminal cannot show is no reason to fail.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    if arguments and (new := RENAMED.get(arguments[0])):
        _say(f"{arguments[0]} is now {new}: elman {new}")
        arguments = [*new.split(), *arguments[1:]]
    called = called_command(arguments)
    try:
        build_app(called)(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
        sys.stdout.flush()
        return 0
    except CycloptsError as error:
        command = f" {called}" if called else ""
        _say(f"{_problem(error)} (elman{command} --help shows how to call it)")
        return 2
    except ElmanError as error:
        _say(str(error))
        return error.exit_code
    except BrokenPipeError:
        _drop_output()  # the reader of the pipe has exited, as `head` does: not an error
        return 0
    except KeyboardInterrupt:
        _say("stopped")
        return 130
    except Exception as error:
        found = system_problem(error)
        if found is None:
            raise
        _drop_output()
        message, code = found
        _say(message)
        return code


def _say(message: str) -> None:
    """Print one line to standard error, if it is still open."""
    with suppress(OSError):
        print(f"elman: {' '.join(message.split())}", file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Keep the interpreter from reporting an output that cannot be written a second time."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _problem(error: CycloptsError) -> str:
    """Describe a mistake in the command line, in one line."""
    message = " ".join(str(error).split())
    unused = error.unused_tokens or []
    if isinstance(error, UnknownCommandError):
        return f"unknown command {unused[0]!r}; {nearest(unused[0], command_names())}"
    if isinstance(error, UnusedCliTokensError):
        return f"too many arguments: {' '.join(unused)}; put quotes around a text with spaces"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        _, hint, name = message.partition(" Did you mean ")
        if error.keyword is not None:
            return f"{error.keyword} needs a value"
        return f"{error.argument.name} is missing{hint and f'; did you mean {name}'}"
    return message


def flowing(docstring: str) -> str:
    """The same text with one line per paragraph and per parameter."""
    description, *rest = _PARAMETERS.split(cleandoc(docstring), maxsplit=1)
    paragraphs = [_joined(paragraph) for paragraph in re.split(r"\n\n+", description.strip())]
    text = "\n\n".join(paragraphs)
    for parameters in rest:
        lines = re.sub(r"(?<=\S)\n {4,}(?=\S)", " ", _marked(parameters))
        text += "\n\nParameters\n----------\n" + lines.replace(_BREAK, "\n    ")
    return text


def _marked(parameters: str) -> str:
    """Mark the line breaks that must stay: between a parameter's name and its description."""
    return re.sub(r"^(\S+)\n {4,}", rf"\1{_BREAK}", parameters, flags=re.MULTILINE)


def _joined(paragraph: str) -> str:
    indented = any(line.startswith(" ") for line in paragraph.split("\n"))
    return paragraph if indented else " ".join(paragraph.split("\n"))
