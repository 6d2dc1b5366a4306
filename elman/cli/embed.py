"""`elman embed`: vectors of words in their sentences, and what is near them."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elman.cli.arguments import Json, Overwrite, Run, WholeNumber
from elman.cli.input_text import GivenText, InputFile, read_given
from elman.cli.output import counted, print_json, print_table
from elman.errors import InputError
from elman.formats.vectors import write_vectors
from elman.tasks.embedding.neighbours import Occurrence, find_neighbours
from elman.tasks.vectors import Embedder, Line, embed_lines, open_embedder

_WIDTH = 60  # characters of a line that are shown around a word


def embed(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    layer: str = "",
    nearest: str | None = None,
    top: WholeNumber = 10,
    same_word: bool = False,
    out: Annotated[str | None, Parameter(name="--out")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Vectors of every word of a text, each in its line: every layer of a bidirectional model.

    Of a language model they are the hidden vectors after each token. The table has a row per word
    and layer, with tabs. With --nearest, the words of the text that are nearest to one of them, in
    context and, beside that, as types.

    For example:
      elman embed runs/elmo --text "the bank of the river" --layer 2
      elman embed runs/elmo lines.txt --out vectors.safetensors
      elman embed runs/elmo lines.txt --nearest bank:3 --same-word
      cat lines.txt | elman embed runs/elmo - --json

    Parameters
    ----------
    file
        A text file, one sentence per line, words between spaces; - for standard input.
    layer
        A number from 0, the vectors from characters; all; or mix: their mean, of a task the mix
        that it has learned. By default all, and for --nearest the last.
    nearest
        A word of the text: the first one; with a number after a colon, the one in that line.
    top
        How many neighbours are shown.
    same_word
        Look at occurrences of the same word only.
    out
        A .safetensors file to write, instead of a table: a tensor line.N for every line with words,
        (layers, words, numbers); the words are in its metadata, as JSON.
    """

    _check(nearest, top, same_word, out, overwrite, json)
    lines = read_given(file, text).text.removesuffix("\n").split("\n")
    embedder = open_embedder(run)
    if nearest is not None:
        _print_neighbours(embedder, lines, nearest, layer, top, same_word, json)
        return
    found = _embed(embedder, lines, layer or "all")
    if json:
        print_json([{"words": line.words, "layers": line.layers.tolist()} for line in found])
    elif out is not None:
        _save(Path(out), found)
    else:
        names = [*range(embedder.num_layers)] if layer in ("", "all") else [layer]
        _print_vectors(found, [*map(str, names)])


def _save(out: Path, found: list[Line]) -> None:

    write_vectors(out, [(line.words, line.layers) for line in found])
    print(f"{sum(len(line.words) for line in found):,} words; saved in {out}")


def _check(
    nearest: str | None, top: int, same_word: bool, out: str | None, overwrite: bool, json: bool
) -> None:
    """Refuse what does not go together, before the work."""
    if top < 1:
        raise InputError(f"--top {top}: must be at least 1")
    if same_word and nearest is None:
        raise InputError("--same-word is for --nearest WORD; give both or neither")
    if out is None:
        return
    if json or nearest is not None:
        raise InputError("--out writes vectors; leave out --json and --nearest, or --out")
    if not out.endswith(".safetensors"):
        raise InputError(f"--out {out}: name a file that ends in .safetensors")
    if Path(out).exists() and not overwrite:
        raise InputError(f"{out}: exists already; choose another --out or add --overwrite")


def _embed(embedder: Embedder, lines: list[str], layer: str) -> list[Line]:

    with counted("lines") as progress:
        return embed_lines(embedder, lines, layer, progress)


def _print_vectors(found: list[Line], names: list[str]) -> None:
    """The table with tabs, for other programs."""
    print("line\tposition\tword\tlayer\tvector")
    for number, line in enumerate(found, 1):
        for place, word in enumerate(line.words):
            for name, vectors in zip(names, line.layers, strict=True):
                numbers = " ".join(f"{value:.6g}" for value in vectors[place])
                print(f"{number}\t{place + 1}\t{word}\t{name}\t{numbers}")


def _print_neighbours(
    embedder: Embedder,
    lines: list[str],
    query: str,
    layer: str,
    top: int,
    same_word: bool,
    json: bool,
) -> None:

    with counted("lines") as progress:
        found = find_neighbours(
            embedder, lines, query, layer=layer, top=top, same_word=same_word, progress=progress
        )
    if json:
        print_json(found)
        return
    print(f"{found.query.word}, in line {found.query.line}: {_around(found.query)}\n")
    rows = [[one.cosine, one.line, one.word, _around(one)] for one in found.occurrences]
    print_table(["cosine", "line", "word", "in its line"], rows)
    print("\nwithout context:\n")
    print_table(["cosine", "word"], [[one.cosine, one.word] for one in found.types])


def _around(one: Occurrence) -> str:
    """The words around one, as many as fit."""
    words = one.text.split()
    first = last = min(one.position - 1, len(words) - 1)
    words[first] = f"[{words[first]}]"
    while (
        sum(map(len, words[first : last + 1])) + last - first < _WIDTH
        and last - first < len(words) - 1
    ):
        first, last = max(first - 1, 0), min(last + 1, len(words) - 1)
    before, after = "… " * (first > 0), " …" * (last < len(words) - 1)
    return before + " ".join(words[first : last + 1]) + after
