"""`elman translate`: every line of a text in another language, or in whatever a run writes."""

from elman.cli.arguments import Json, Run
from elman.cli.given import InputFile
from elman.cli.writing import (
    Search,
    find_all,
    load_translator,
    print_found,
    print_found_json,
    read_lines,
)


def translate(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: str | None = None,
    search: Search | None = None,
    json: Json = False,
) -> None:
    """Translate a text line by line; one line comes out for each, an empty one for an empty one.

    For example:
      elman translate runs/en-de --text "two dogs play in the snow ."
      elman translate runs/en-de test.en > test.de
      elman translate runs/en-de test.en --beam 1
      cat test.en | elman translate runs/en-de - --n-best 3 --json

    Parameters
    ----------
    file
        Sources, one per line; - for standard input.
    text
        The text itself, instead of a file.
    """
    search = search or Search()
    sources = read_lines(file, text)
    found = find_all(load_translator(run), sources, search, "translating, lines")
    if json:
        print_found_json(sources, found)
    else:
        print_found(found, several=search.n_best > 1)
