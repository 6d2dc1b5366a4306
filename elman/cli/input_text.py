"""Text that a command is given: a file, standard input (-), or the text itself (--text)."""

import sys
from typing import Annotated

from cyclopts import Parameter

from elman.errors import InputError
from elman.text.reader import Document, read_document, read_standard_input


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
