"""`elman surprisal`: a table with one row per word."""

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from elman.cli.arguments import Adapters, Json, Reset, Run
from elman.cli.given import GivenText, InputFile, read_given
from elman.cli.output import counted, note, print_json
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.evaluation.surprisal import WordSurprisal


_BASES = {"2": 2.0, "e": math.e, "10": 10.0}


def surprisal(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    base: str = "2",
    reset: Reset = "line",
    with_: Adapters = (),
    json: Json = False,
) -> None:
    """Surprisal, entropy and rank of every word of a text, as a table with tabs or as JSON.

    A word is what stands between white space; its surprisal is the sum over its tokens, and the
    space before it belongs to it. The entropy is that of the distribution before the word; the
    rank is given for words of one token.

    For example:
      elman surprisal runs/ptb --text "the price of gold rose"
      elman surprisal runs/ptb stimuli.txt > surprisal.tsv
      cat stimuli.txt | elman surprisal runs/ptb - --base e --json

    Parameters
    ----------
    file
        A text file, one sentence per line; - for standard input.
    base
        Base of the logarithm: 2 (bits), e (nats) or 10.
    """
    from elman.tasks.language_model import load

    if base not in _BASES:
        raise InputError(f"--base {base}: choose 2, e or 10")
    given = read_given(file, text).text
    trained = load(run).with_adapters(with_)
    with counted("tokens") as progress:
        rows = trained.surprisal(given, base=_BASES[base], reset=reset, progress=progress)
    if unknown := sum(row.unknown for row in rows):
        note(f"{unknown} of {len(rows)} words are unknown: their surprisal is that of <unk>")
    if json:
        print_json(rows)
        return
    _print(rows)


def _print(rows: list["WordSurprisal"]) -> None:
    """The table with tabs, for other programs."""
    from elman.evaluation.surprisal import WordSurprisal

    names = [field.name for field in fields(WordSurprisal)]
    print("\t".join(names))
    for row in rows:  # a word is between white space, so it never holds a tab
        print("\t".join(_cell(getattr(row, name)) for name in names))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else "" if value is None else str(value)
