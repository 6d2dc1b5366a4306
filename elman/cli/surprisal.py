"""`elman surprisal`: a table with one row per word, or a table of stimuli with more columns."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Adapters, Json, Run
from elman.cli.ask import ask, given_values, make_flags, open_run, print_answer
from elman.cli.input_text import GivenText, InputFile, read_given
from elman.cli.output import counted, note, print_json
from elman.errors import InputError
from elman.tasks.language_modelling.questions import Surprisal, unknown_note
from elman.tasks.language_modelling.stimuli import join as join_stimuli
from elman.text.reader import Document
from elman.text.stimuli import read_stimuli
from elman.text.tables import check_columns, parse_columns

SurprisalFlags: Any = make_flags(Surprisal)


def surprisal(
    run: Run,
    /,
    *given: Annotated[InputFile, Parameter(name="FILE")],
    text: GivenText = None,
    flags: SurprisalFlags | None = None,
    with_: Adapters = (),
    join: bool = False,
    columns: str = "",
    column: str = "",
    by: str = "",
    json: Json = False,
) -> None:
    """Give surprisal, entropy and rank of every word of a text.

    The output is a table with tabs, or JSON. Words are separated by white space; the surprisal of a
    word is the sum over its tokens, and the space before it belongs to it. The entropy is that of
    the distribution before the word; the rank is given for words of one token.

    A file that ends in .tsv is a table of stimuli, and comes back row for row with the columns
    surprisal, entropy, tokens and unknown added, for several runs as surprisal_RUN and so on. It
    has a column with a sentence per row (then surprisal is the sum, entropy the mean over its
    words) or with a word per row; NA where a row has no text. Typed text is split as the training
    text is: marks apart, clitics as in the corpus. The share of out-of-vocabulary words is always
    reported.

    For example:
      elman surprisal runs/ptb --text "the price of gold rose"
      elman surprisal runs/ptb stimuli.txt > surprisal.tsv
      cat stimuli.txt | elman surprisal runs/ptb - --base e --json
      elman surprisal runs/kn5 runs/lstm stimuli.tsv > joined.tsv

    Parameters
    ----------
    given
        A text file, one sentence per line; - for standard input. For a table of stimuli, more runs
        may stand before it.
    join
        Take the file for a table of stimuli, whatever its name is.
    columns
        Name the column that holds the sentence or the word: text=stimulus. Otherwise it is the one
        called sentence, text, word or the like.
    column
        The older spelling of --columns text=NAME.
    by
        Which columns tell where a sentence begins, with commas between them, of a table with a
        word per row; else item, condition and the like.
    """
    values = given_values(flags or SurprisalFlags())
    if values["base"] not in (2, "e", 10):
        raise InputError(f"--base {values['base']:g}: choose 2, e or 10")
    if columns:
        column = check_columns(parse_columns(columns), ("text",))["text"]
    *others, file = given if given else (None,)
    table = file is not None and (join or file.endswith((".tsv", ".tsv.gz")))
    if (others or join or column or by) and not table:
        raise InputError(
            "several runs, --join, --columns and --by are for a table of stimuli: give a .tsv file"
        )
    document = read_given(file, text)
    models = [open_run(one, "surprisal", with_) for one in (run, *others) if one is not None]
    if not table:
        print_answer(ask(models[0], "surprisal", values, document), json)
        return
    if values["reset"] != "line":
        raise InputError("--reset: every sentence of a table stands by itself")
    base = math.e if values["base"] == "e" else values["base"]
    _print_joined(models, document, base, column, by, json)


def _print_joined(
    models: Sequence[Any], document: Document, base: float, column: str, by: str, json: bool
) -> None:
    """The table with its new columns; as JSON, an object per row."""
    names = [name.strip() for name in by.split(",") if name.strip()]
    stimuli = read_stimuli(document, column=column, by=names)
    with counted("tokens") as progress:
        table = join_stimuli(models, stimuli, base=base, progress=progress)
    for model, count in zip(models, table.unknown, strict=True):
        if model.tokenizer.unknown_id is not None:
            note(unknown_note(count.unknown, count.words, count.run if len(models) > 1 else ""))
    if not json:
        print("\n".join(table.lines))
        return
    header, *rows = [line.split("\t") for line in table.lines]
    own = len(stimuli.columns())
    print_json(
        [
            dict(zip(header, [*row[:own], *(_number(cell) for cell in row[own:])], strict=True))
            for row in rows
        ]
    )


def _number(cell: str) -> float | None:
    return None if cell == "NA" else float(cell)
