"""`elman embed`: contextual vectors of words, and their nearest neighbours."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import (
    GivenText,
    InputFile,
    Json,
    Overwrite,
    Run,
    Threads,
    read_given,
    use_threads,
)
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
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compute a vector for every word of a text, in the context of its line.

    A bidirectional model gives the vectors of every layer, a language model the hidden vectors
    after each token. The output is a tab-separated table with one row per word and layer. With
    --nearest, elman prints the nearest neighbours of one word instead: occurrences in context and,
    beside them, word types.

    For example:
      elman embed runs/elmo --text "the bank of the river" --layer 2
      elman embed runs/elmo lines.txt --out vectors.safetensors
      elman embed runs/elmo lines.txt --nearest bank:3 --same-word
      cat lines.txt | elman embed runs/elmo - --json

    Parameters
    ----------
    file
        A text file with one sentence per line and spaces between words; - for standard input.
    out
        Write a .safetensors file instead of a table: one tensor line.N of shape (layers, words,
        numbers) for every line with words. The metadata contains the words as JSON.
    """
    values = given_values(flags)
    if out is not None:
        check_file(out, "a set of vectors", (".safetensors",), overwrite=overwrite)
        if json or values.get("nearest"):
            raise InputError("--out cannot be combined with --json or --nearest; leave out one")
    document = read_given(file, text)
    use_threads(threads)
    answer = ask(open_run(run, "embed"), "embed", values, document)
    if out is None:
        print_answer(answer, json)
        return
    write_vectors(Path(out), [(line.words, line.layers) for line in answer.embedded])
    print(f"{sum(len(line.words) for line in answer.embedded):,} words; saved in {out}")
