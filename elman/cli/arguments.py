"""Arguments that several commands share: their type, and the one help text that each has.

A command names them in its signature (`json: Json = False`); what only one command takes is
described under "Parameters" in that command's docstring. (A heading "Examples:" there would be
swallowed by the parser of docstrings, hence "For example:".)
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from elman.errors import InputError
from elman.recipes import load_recipe
from elman.text.reader import Document, read_document, read_standard_input
from elman.text.tables import columns_setting


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    try:
        return int(tokens[0].value)  # of "1.5" an error, where int(1.5) would drop the half
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


def with_columns(recipe: str, settings: tuple[str, ...], columns: str | None) -> tuple[str, ...]:
    """Settings with the columns of a table, if they were given and the recipe reads tables."""
    if columns is None:
        return settings
    if not hasattr((config := load_recipe(recipe, settings)).text, "columns"):
        raise InputError(
            f"--columns is for tables of labelled texts or pairs, which the model {config.kind!r} "
            "does not read; leave it out"
        )
    return (*settings, columns_setting(columns))


WholeNumber = Annotated[int, Parameter(converter=_whole)]

Run = Annotated[str, Parameter(help="A run folder.")]
CountRun = Annotated[str, Parameter(help="A run folder of an n-gram model.")]
Recipe = Annotated[str, Parameter(help="A shipped name (elman list recipes) or a TOML file.")]
Data = Annotated[
    str,
    Parameter(help="A text file, a folder with train/valid/test files, or a built-in corpus."),
]
Split = Annotated[
    str | None,
    Parameter(
        help="train, valid or test. By default test, or all of a single file that the run has not "
        "seen."
    ),
]
Reset = Annotated[
    str,
    Parameter(
        help='"stream" carries the state through the text, "line" starts anew at every line.'
    ),
]
Adapters = Annotated[
    tuple[str, ...],
    Parameter(
        name="--with",
        help="Put an adapter around the model (elman list adapters), with settings after a colon: "
        "cache:weight=0.1. May be given several times. Settings that are not given are fitted on "
        "the valid split.",
    ),
]
Settings = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        help="Change a setting of the recipe: section.field=value. May be given several times.",
    ),
]
Columns = Annotated[
    str | None,
    Parameter(
        help="The columns of a table to read: text=utterance,label=intent for labelled texts, "
        "source=en,target=de for pairs. Names in the header, keys of JSON lines, or numbers, the "
        "first column being 1. By default well-known names and the content of the columns decide."
    ),
]
Seed = Annotated[
    WholeNumber | None,
    Parameter(help="Seed of everything random; 0 unless the recipe has another."),
]
Device = Annotated[
    str, Parameter(help="Where to train a neural model: cpu; cuda, cuda:1 … and mps are untested.")
]
Threads = Annotated[
    WholeNumber | None,
    Parameter(help="Processor threads; as many as there are cores unless given."),
]
RunToWrite = Annotated[str, Parameter(help="The run folder to write.")]
Overwrite = Annotated[bool, Parameter(help="Replace what is there already.")]
Json = Annotated[bool, Parameter(help="Print the result as JSON.")]


def _refuse_option(_: object, value: str | None) -> None:
    if value is not None and value.startswith("-") and value != "-":
        raise InputError(f"unknown option {value} (--help shows how to call it)")


# A hyphen may lead for the sake of "-" alone.
InputFile = Annotated[str, Parameter(allow_leading_hyphen=True, validator=_refuse_option)]


GivenText = Annotated[str | None, Parameter(help="The text itself, instead of a file.")]


def read_given(file: str | None, text: str | None) -> Document:
    """What was given in one of the two ways."""
    if (text is None) == (file is None):
        raise InputError("give either a file or --text, not both or neither")
    if text == "":
        raise InputError("--text is empty; give some text")
    if file is None:
        return Document("--text", str(text))
    if file == "-":
        return read_standard_input(sys.stdin.buffer.read())
    return read_document(file)
