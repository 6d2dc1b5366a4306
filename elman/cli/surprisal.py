"""`elman surprisal`: a table with one row per word."""

import math
from dataclasses import fields
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Adapters, Json, Reset, Run
from elman.cli.input_text import GivenText, InputFile, read_given
from elman.cli.output import counted, note, note_unknown, print_json
from elman.errors import InputError
from elman.evaluation.reading import Progress
from elman.evaluation.surprisal import WordSurprisal
from elman.tasks.language_modelling.stimuli import join
from elman.tasks.language_modelling.trained import TrainedModel, load
from elman.text.named_columns import check_columns, parse_columns
from elman.text.reader import Document
from elman.text.stimuli import read_stimuli
from elman.text.tokenizer import EOS

_BASES = {"2": 2.0, "e": math.e, "10": 10.0}


def surprisal(
    run: Run,
    /,
    *given: Annotated[InputFile, Parameter(name="FILE")],
    text: GivenText = None,
    base: str = "2",
    reset: Reset = "line",
    with_: Adapters = (),
    join: bool = False,
    columns: str = "",
    column: str = "",
    by: str = "",
    json: Json = False,
) -> None:
    """Surprisal, entropy and rank of every word of a text, as a table with tabs or as JSON.

    A word is what stands between white space; its surprisal is the sum over its tokens, and the
    space before it belongs to it. The entropy is that of the distribution before the word; the
    rank is given for words of one token.

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
    base
        Base of the logarithm: 2 (bits), e (nats) or 10.
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

    if base not in _BASES:
        raise InputError(f"--base {base}: choose 2, e or 10")
    if columns:
        column = check_columns(parse_columns(columns), ("text",))["text"]
    *others, file = given if given else (None,)
    table = file is not None and (join or file.endswith((".tsv", ".tsv.gz")))
    if (others or join or column or by) and not table:
        raise InputError(
            "several runs, --join, --columns and --by are for a table of stimuli: give a .tsv file"
        )
    document = read_given(file, text)
    models = [load(one).with_adapters(with_) for one in (run, *others) if one is not None]
    with counted("tokens") as progress:
        if table:
            if reset != "line":
                raise InputError("--reset: every sentence of a table stands by itself")
            _print_joined(models, document, _BASES[base], column, by, json, progress)
            return
        rows = models[0].surprisal(document.text, base=_BASES[base], reset=reset, progress=progress)
    if models[0].tokenizer.unknown_id is not None:
        note_unknown(sum(row.unknown for row in rows), sum(row.word != EOS for row in rows))
    if undefined := sum(row.undefined for row in rows):
        note(
            f"{undefined} of {len(rows)} words have no defined probability: their context was "
            "never seen (0 / 0); train with a smoother for finite numbers"
        )
    if json:
        print_json(rows)
        return
    _print(rows)


def _print_joined(
    models: list[TrainedModel],
    document: Document,
    base: float,
    column: str,
    by: str,
    json: bool,
    progress: Progress,
) -> None:
    """The table with its new columns; as JSON, an object per row."""

    names = [name.strip() for name in by.split(",") if name.strip()]
    stimuli = read_stimuli(document, column=column, by=names)
    table = join(models, stimuli, base=base, progress=progress)
    for model, count in zip(models, table.unknown, strict=True):
        if model.tokenizer.unknown_id is not None:
            note_unknown(count.unknown, count.words, count.run if len(models) > 1 else "")
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


def _print(rows: list[WordSurprisal]) -> None:
    """The table with tabs, for other programs."""

    names = [field.name for field in fields(WordSurprisal) if field.name != "undefined"]
    print("\t".join(names))
    for row in rows:  # a word is between white space, so it never holds a tab
        cells = {name: _cell(getattr(row, name)) for name in names}
        if row.undefined:
            cells |= {"surprisal": "undefined", "entropy": "undefined"}
        print("\t".join(cells.values()))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else "" if value is None else str(value)
