"""`elman surprisal`: a table with one row per word, or a table of stimuli with more columns."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

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
from elman.cli.ask import as_text, ask, given_values, make_flags, open_run, print_answer
from elman.cli.output import counted, note
from elman.errors import InputError
from elman.figures.files import check_file
from elman.tasks.language_modelling.scoring import Surprisal
from elman.tasks.language_modelling.stimuli import ENDINGS, Columns, JoinedTable
from elman.tasks.language_modelling.stimuli import join as join_stimuli
from elman.text.reader import Document
from elman.text.records import BINARY, format_of, read_rows_as_json
from elman.text.stimuli import read_stimuli
from elman.text.tables import check_columns, parse_columns

SurprisalFlags: Any = make_flags(Surprisal)
_TABLES = (".tsv", ".tsv.gz", ".csv", ".csv.gz", ".parquet", ".arrow", ".feather")


@Parameter(name="*")
@dataclass(kw_only=True)
class StimuliFlags:
    """How a table of stimuli is read."""

    join: bool = False
    "Read the file as a table of stimuli, even if its name does not end in .tsv, .csv or .parquet."
    columns: str = ""
    (
        "The column with the sentence or the word: text=stimulus. Default: the column named "
        "sentence, text, word or similar."
    )
    column: str = ""
    "The older form of --columns text=NAME."
    by: str = ""
    (
        "For a table with one word per row: the columns that identify a sentence, separated by "
        "commas. Default: item, condition and similar."
    )
    spillover: WholeNumber = 0
    "For a table with one word per row: also add the surprisal of this many previous words."
    out: str = ""
    "Write the table to this file instead of printing it: .tsv, .csv or .parquet."

    def is_table(self, file: str | None, others: list[str]) -> bool:
        """Whether a file is a table of stimuli; refuse options for tables with other files."""
        if file is not None and (self.join or file.endswith(_TABLES)):
            return True
        if others or any(vars(self).values()):
            raise InputError(
                "several runs, --join, --columns, --by, --spillover and --out need a table of "
                "stimuli: give a .tsv, .csv or .parquet file"
            )
        return False

    def join_surprisal(self, models: list[Any], document: Document, wanted: Columns) -> JoinedTable:
        """Add the columns of every model to the table."""
        column = self.column
        if self.columns:
            column = check_columns(parse_columns(self.columns), ("text",))["text"]
        by = [name.strip() for name in self.by.split(",") if name.strip()]
        stimuli = read_stimuli(document, column=column, by=by)
        with counted("tokens") as progress:
            return join_stimuli(models, stimuli, wanted, progress)


def _read(file: str | None, text: str | None, is_table: bool) -> Document:
    """The text or the table; rows of Parquet become JSON lines."""
    form = format_of(file) if is_table and file is not None else None
    if form in BINARY and file is not None and form is not None:
        return Document(file, read_rows_as_json(file, form))
    return read_given(file, text)


def surprisal(
    run: Run,
    /,
    *given: Annotated[InputFile, Parameter(name="FILE")],
    text: GivenText = None,
    flags: SurprisalFlags | None = None,
    with_: Adapters = (),
    table: StimuliFlags | None = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compute the surprisal, entropy and rank of every word in a text.

    The output is a tab-separated table, or JSON. White space separates words. surprisal is that of
    the whole word: the boundary after the word counts, the boundary before it does not.
    surprisal_uncorrected is the sum over the tokens, including the space before the word. The two
    are equal if every token is a word. entropy is that of the distribution over the next token,
    before the word is read. rank is given for words of one token. --next-word adds the entropy over
    whole words.

    A file that ends in .tsv, .csv or .parquet is a table of stimuli. elman prints every row
    with the added columns surprisal, surprisal_uncorrected, entropy, tokens and unknown; with
    several runs they are named surprisal_RUN and so on. The table has one sentence per row
    (surprisal is then the sum and entropy the mean over its words) or one word per row; rows
    without text get NA. Typed text is split like the training text: punctuation apart, clitics as
    in the corpus. The share of out-of-vocabulary words is always reported.

    For example:
      elman surprisal runs/ptb --text "the price of gold rose"
      elman surprisal runs/ptb stimuli.txt > surprisal.tsv
      cat stimuli.txt | elman surprisal runs/ptb - --base e --json
      elman surprisal runs/kn5 runs/lstm stimuli.tsv > joined.tsv
      elman surprisal runs/kn5 words.csv --spillover 2 --no-entropy --out joined.csv

    Parameters
    ----------
    given
        A text file with one sentence per line; - for standard input. For a table of stimuli, you
        can give more runs before it.
    """
    values, table = given_values(flags or SurprisalFlags()), table or StimuliFlags()
    base = values["base"]
    if base not in (2, "e", 10):
        raise InputError(f"--base {base:g}: choose 2, e or 10")
    *others, file = given or (None,)
    is_table = table.is_table(file, others)
    document = _read(file, text, is_table)
    place = check_file(table.out, "the table", ENDINGS) if table.out else None
    use_threads(threads)
    models = [open_run(one, "surprisal", with_) for one in (run, *others) if one is not None]
    if not is_table:
        print_answer(ask(models[0], "surprisal", values, as_text(document)), json)
        return
    if values["reset"] != "line":
        raise InputError("--reset: the sentences of a table are independent; leave it out")
    wanted = Columns(
        base=math.e if base == "e" else base,
        entropy=values["entropy"],
        next_word=values["next_word"],
        beam=values["beam"],
        spillover=table.spillover,
    )
    joined = table.join_surprisal(models, document, wanted)
    if place is None:
        print_answer(joined, json)
        return
    for message in joined.notes():
        note(message)
    joined.save(place)
