"""`elman embed`: vectors of words in their sentences, and what is near them."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import GivenText, InputFile, Json, Overwrite, Run, read_given
from elman.cli.ask import ask, given_values, make_flags, open_run, print_answer
from elman.errors import InputError
from elman.figures.files import check_file
from elman.formats.vectors import write_vectors
from elman.tasks.embed import Embed

EmbedFlags: Any = make_flags(Embed)


def embed(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    flags: EmbedFlags | None = None,
    out: str | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Give the vectors of every word of a text, each in its line.

    A bidirectional model gives those of every layer, a language model the hidden vectors after each
    token. The table has a row per word and layer, with tabs. With --nearest, the words of the text
    that are nearest to one of them are shown, in context and, beside that, as types.

    For example:
      elman embed runs/elmo --text "the bank of the river" --layer 2
      elman embed runs/elmo lines.txt --out vectors.safetensors
      elman embed runs/elmo lines.txt --nearest bank:3 --same-word
      cat lines.txt | elman embed runs/elmo - --json

    Parameters
    ----------
    file
        A text file, one sentence per line, words between spaces; - for standard input.
    out
        A .safetensors file to write, instead of a table: a tensor line.N for every line with words,
        (layers, words, numbers); the words are in its metadata, as JSON.
    """
    values = given_values(flags)
    if out is not None:
        check_file(out, "a set of vectors", (".safetensors",), overwrite=overwrite)
        if json or values.get("nearest"):
            raise InputError("--out writes vectors; leave out --json and --nearest, or --out")
    document = read_given(file, text)
    answer = ask(open_run(run, "embed"), "embed", values, document)
    if out is None:
        print_answer(answer, json)
        return
    write_vectors(Path(out), [(line.words, line.layers) for line in answer.embedded])
    print(f"{sum(len(line.words) for line in answer.embedded):,} words; saved in {out}")
