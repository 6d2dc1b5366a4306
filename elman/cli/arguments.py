"""Arguments that several commands share: their types and help texts.

A command names them in its signature (`json: Json = False`). Arguments of a single command are
described under "Parameters" in its docstring. (The docstring parser would drop a heading
"Examples:", hence "For example:".)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from elman.counts.engines import ENGINES
from elman.counts.resources import Resources, parse_memory
from elman.errors import InputError
from elman.recipes import load_recipe, shipped_names
from elman.text.reader import Document, read_document, read_standard_input
from elman.text.tables import columns_setting


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    try:
        return int(tokens[0].value)  # "1.5" is an error here; int(1.5) would drop the half
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


def with_data_flags(
    recipe: str,
    settings: tuple[str, ...],
    columns: str | None,
    split_by: str | None = None,
    strict: bool = False,
) -> tuple[str, ...]:
    """Add what flags say about the data to the settings; refuse what the recipe does not know."""
    if split_by is not None:
        settings = (*settings, f"text.split={'ordered' if split_by == 'order' else split_by}")
    if strict:
        settings = (*settings, "text.strict=true")
    return _with_columns(recipe, settings, columns)


def _with_columns(recipe: str, settings: tuple[str, ...], columns: str | None) -> tuple[str, ...]:
    if columns is None:
        return settings
    if not hasattr((config := load_recipe(recipe, settings)).text, "columns"):
        raise InputError(
            f"--columns is for tables, which the model {config.kind!r} does not read; leave it out"
        )
    return (*settings, columns_setting(columns))


if TYPE_CHECKING:
    _RecipeName = str
    _Engine = str
else:  # choices, for --help and for shells that complete them
    _RecipeName = Literal[shipped_names()] | str  # any other text is a file
    _Engine = Literal[ENGINES]

WholeNumber = Annotated[int, Parameter(converter=_whole)]

Run = Annotated[str, Parameter(help="A run folder.")]
Verify = Annotated[
    bool,
    Parameter(
        help="Check the SHA-256 of every file. By default, only the size and header of n-gram "
        "tables of 32 MB or more are checked, so that large models load at once.",
    ),
]
Recipe = Annotated[
    _RecipeName,
    Parameter(
        help="A built-in recipe (elman list recipes) or a TOML file of your own.",
        show_choices=False,
    ),
]


def _refuse_option(_: object, value: str | None) -> None:
    if value is not None and value.startswith("-") and value != "-":
        raise InputError(f"unknown option {value} (--help shows how to call it)")


# A leading hyphen is allowed only for "-", standard input.
InputFile = Annotated[str, Parameter(allow_leading_hyphen=True, validator=_refuse_option)]
Data = Annotated[
    str,
    Parameter(
        help="A text file, a folder with train/valid/test files, a built-in corpus, a table with "
        "a column of text, a glob of such files, or - for standard input.",
        allow_leading_hyphen=True,
        validator=_refuse_option,
    ),
]
Split = Annotated[
    str | None,
    Parameter(
        help="The split to use: train, valid or test. Default: test, or the whole file if the data "
        "is a single file that the run was not trained on."
    ),
]
Reset = Annotated[
    str,
    Parameter(help='"stream" carries the state through the text, "line" resets it at every line.'),
]
Adapters = Annotated[
    tuple[str, ...],
    Parameter(
        name="--with",
        help="Wrap the model in an adapter (elman list adapters), with settings after a colon: "
        "cache:weight=0.1. Can be repeated. Missing settings are fitted on the valid split.",
    ),
]
Settings = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        help="Change a setting of the recipe: section.field=value. Can be repeated.",
    ),
]
Columns = Annotated[
    str | None,
    Parameter(
        help="The columns of a table to read: text=body for a language model, "
        "text=utterance,label=intent for labelled texts, source=en,target=de for pairs. Give names "
        "from the header, keys of JSON lines, or column numbers starting at 1. Default: guessed "
        "from common names and from the content."
    ),
]
SplitBy = Annotated[
    str | None,
    Parameter(
        help="How data without splits is divided: order, hash (by the content of each line or "
        "row), time (by a column, --columns time=date), or random:SEED. The run keeps the choice."
    ),
]
Strict = Annotated[
    bool,
    Parameter(help="Refuse rows of a table that have no text, instead of reporting their number."),
]
Seed = Annotated[
    WholeNumber | None,
    Parameter(help="The random seed. Default: the recipe's seed, or 0."),
]
Device = Annotated[
    str,
    Parameter(help="The device for neural training: cpu. cuda, cuda:1 … and mps are untested."),
]
Threads = Annotated[
    WholeNumber | None,
    Parameter(help="Number of CPU threads. Default: the number of cores."),
]


def use_threads(threads: int | None) -> None:
    """Compute with this many CPU threads; None: the default of torch, which is not imported."""
    if threads is not None:
        from elman.training.machine import Machine

        Machine(threads=threads).prepare()


BudgetText = Annotated[
    str | None,
    Parameter(
        help="Stay within a time (45s, 10m, 2h; everything included) or a number of operations "
        "(70teraflop): choose width, epochs and output layer for it, and say what was chosen. "
        "Settings of --set stay as they are."
    ),
]
Counts = Annotated[
    tuple[str, ...],
    Parameter(
        help="Train an n-gram model on a folder of counts (elman counts) instead of data. Can be "
        "repeated: the counts add up."
    ),
]
EngineName = Annotated[
    _Engine | None,
    Parameter(
        help="The engine that counts n-grams: memory (numpy), duckdb (on disk, one machine) or "
        "spark (a cluster). All give the same model. Default: memory if the text fits, "
        "otherwise duckdb."
    ),
]
Memory = Annotated[
    str | None,
    Parameter(help="The memory for counting n-grams, like 2G. Default: 70 % of all memory."),
]
Master = Annotated[
    str | None,
    Parameter(help="The address of the Spark cluster that counts n-grams."),
]


def resources(engine: str | None, memory: str | None, master: str | None) -> Resources:
    """What counting may use."""
    return Resources(engine, None if memory is None else parse_memory(memory), master)


ArpaFile = Annotated[str, Parameter(help="The ARPA file to write; compressed if it ends in .gz.")]
RunToWrite = Annotated[str, Parameter(help="The run folder to write.")]
Overwrite = Annotated[bool, Parameter(help="Replace the output if it exists already.")]
Json = Annotated[bool, Parameter(help="Print the result as JSON.")]


GivenText = Annotated[str | None, Parameter(help="The input text, instead of a file.")]


def read_given(file: str | None, text: str | None) -> Document:
    """Read the input from a file, from standard input or from --text."""
    if (text is None) == (file is None):
        raise InputError("give either a file or --text, not both or neither; - is standard input")
    if text == "":
        raise InputError("--text is empty; give some text")
    if file is None:
        return Document("--text", str(text))
    if file == "-":
        return read_standard_input()
    return read_document(file)
