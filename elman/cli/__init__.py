"""The command line: one file per command; each parses, calls a public function, and prints.

A command file imports its room inside its function, so that `elman --help` does not import torch.
Errors become one line and an exit code: 1 something failed, 2 wrong input (`system_errors.py` says
which is which for what comes from the system).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnknownCommandError,
    UnusedCliTokensError,
)

from elman.cli.help import flowing
from elman.cli.system_errors import system_problem
from elman.errors import ElmanError, nearest
from elman.version import __version__

# Command to its file and function of the same name; an underscore where Python has the word.
COMMANDS = {
    "tour": "tour",
    "train": "train",
    "plan": "plan",
    "evaluate": "evaluate",
    "compare": "compare",
    "vary": "vary",
    "lengths": "lengths",
    "regimes": "regimes",
    "reproduce": "reproduce",
    "generate": "generate",
    "suggest": "suggest",
    "surprisal": "surprisal",
    "minimal-pairs": "minimal_pairs",
    "embed": "embed",
    "tag": "tag",
    "explain": "explain",
    "inspect": "inspect",
    "classify": "classify",
    "answer": "answer",
    "translate": "translate",
    "summarise": "summarise",
    "caption": "caption",
    "serve": "serve",
    "quantise": "quantise",
    "export": "export",
    "import": "import_",
    "data": "data",
    "list": "list",
}

app = App(
    name="elman",
    help="Recurrent language models, from counting words to attention. New here? elman tour",
    version=__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # `run` says it
    # "--no-…" forms and empty defaults would only make the help longer.
    default_parameter=Parameter(negative="", show_default=lambda value: value or None),
)
for _place, (_name, _file) in enumerate(COMMANDS.items()):
    _function = getattr(import_module(f"elman.cli.{_file}"), _file)
    _function.__doc__ = flowing(_function.__doc__)
    app.command(_function, name=_name, sort_key=_place)


def main() -> None:
    """Run the command line and exit."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # until the end
        # What a terminal cannot show is no reason to fail.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; the exit code."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return 0
    except CycloptsError as error:
        command = f" {arguments[0]}" if arguments and arguments[0] in COMMANDS else ""
        _say(f"{_problem(error)} (elman{command} --help shows how to call it)")
        return 2
    except ElmanError as error:
        _say(str(error))
        return error.exit_code
    except BrokenPipeError:
        _drop_output()  # the reader of a pipe has gone, as `head` does: not an error
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
    """One line on standard error, if that can still be written to."""
    with suppress(OSError):
        print(f"elman: {' '.join(message.split())}", file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Keep the interpreter from complaining once more about an output that cannot be written."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _problem(error: CycloptsError) -> str:
    """What is wrong with a command line, in one line and in our words."""
    message = " ".join(str(error).split())
    unused = error.unused_tokens or []
    if isinstance(error, UnknownCommandError):
        return f"unknown command {unused[0]!r}; {nearest(unused[0], COMMANDS)}"
    if isinstance(error, UnusedCliTokensError):
        return f"too many arguments: {' '.join(unused)}; put quotes around a text with spaces"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        _, hint, name = message.partition(" Did you mean ")
        if error.keyword is not None:
            return f"{error.keyword} needs a value"
        return f"{error.argument.name} is missing{hint and f'; did you mean {name}'}"
    return message
