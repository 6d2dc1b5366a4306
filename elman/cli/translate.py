"""`elman translate`: a text for every source: translations, summaries, captions."""

from elman.cli.arguments import Json, Run
from elman.cli.attention_flags import AttentionFlags
from elman.cli.input_text import GivenText, InputFile
from elman.cli.translation_flags import Mixed, Search, load_translator, read_lines, write_texts
from elman.errors import InputError
from elman.tasks.translation.vectors import read_vectors


def translate(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    whole: bool = False,
    search: Search | None = None,
    looking: AttentionFlags | None = None,
    mix: Mixed = (),
    json: Json = False,
) -> None:
    """Translate, summarise or caption: print a text for every source.

    One line comes out for each line, an empty one for an empty one. A run that was trained on
    texts and their summaries writes summaries; one that was trained on vectors, like features of
    pictures, writes captions.

    For example:
      elman translate runs/en-de --text "two dogs play in the snow ."
      elman translate runs/en-de test.en > test.de
      elman translate runs/en-de test.en --beam 1
      elman translate runs/en-de --text "two dogs play ." --attention map.png
      elman translate runs/en-de test.en --mix runs/en-de-2 --alignments test.align
      elman translate runs/news article.txt --whole --min-tokens 20
      elman translate runs/pictures features.npy --beam 10 --n-best 3
      cat test.en | elman translate runs/en-de - --n-best 3 --json

    Parameters
    ----------
    file
        Sources, one per line; - for standard input. Vectors of numpy, .npy or .npz: one vector per
        example, or a grid of them.
    whole
        The file is one text of several lines.
    """
    if file is not None and file.endswith((".npy", ".npz")):
        if whole or text is not None:
            raise InputError(f"{file}: holds vectors; leave out --whole and --text")
        sources = read_vectors(file)
    else:
        sources = read_lines(file, text)
        if whole:
            sources = [" ".join(" ".join(sources).split())]
    write_texts(
        load_translator(run, mix),
        sources,
        search or Search(),
        looking or AttentionFlags(),
        json=json,
        what="translating, lines",
    )
