"""`elman translate`: every line of a text in another language, or in whatever a run writes."""

from elman.cli.arguments import Json, Run
from elman.cli.attention_flags import AttentionFlags
from elman.cli.input_text import InputFile
from elman.cli.translation_flags import Mixed, Search, load_translator, read_lines, write_texts


def translate(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: str | None = None,
    search: Search | None = None,
    looking: AttentionFlags | None = None,
    mix: Mixed = (),
    json: Json = False,
) -> None:
    """Translate a text line by line; one line comes out for each, an empty one for an empty one.

    For example:
      elman translate runs/en-de --text "two dogs play in the snow ."
      elman translate runs/en-de test.en > test.de
      elman translate runs/en-de test.en --beam 1
      elman translate runs/en-de --text "two dogs play ." --attention map.png
      elman translate runs/en-de test.en --mix runs/en-de-2 --alignments test.align
      cat test.en | elman translate runs/en-de - --n-best 3 --json

    Parameters
    ----------
    file
        Sources, one per line; - for standard input.
    text
        The text itself, instead of a file.
    """
    sources = read_lines(file, text)
    write_texts(
        load_translator(run, mix),
        sources,
        search or Search(),
        looking or AttentionFlags(),
        json=json,
        what="translating, lines",
    )
