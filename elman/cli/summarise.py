"""`elman summarise`: a short text for each long one."""

from elman.cli.arguments import Json, Run
from elman.cli.attention_flags import AttentionFlags
from elman.cli.input_text import InputFile
from elman.cli.translation_flags import Mixed, Search, load_translator, read_lines, write_texts


def summarise(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: str | None = None,
    whole: bool = False,
    search: Search | None = None,
    looking: AttentionFlags | None = None,
    mix: Mixed = (),
    json: Json = False,
) -> None:
    """Summarise texts, one per line; one line comes out for each.

    For example:
      elman summarise runs/news --text "the council met on monday and …"
      elman summarise runs/news articles.txt > summaries.txt
      elman summarise runs/news article.txt --whole --min-tokens 20
      cat articles.txt | elman summarise runs/news - --json

    Parameters
    ----------
    file
        Texts, one per line; - for standard input.
    text
        The text itself, instead of a file.
    whole
        The file is one text, of several lines.
    """
    sources = read_lines(file, text)
    if whole:
        sources = [" ".join(" ".join(sources).split())]
    write_texts(
        load_translator(run, mix),
        sources,
        search or Search(),
        looking or AttentionFlags(),
        json=json,
        what="summarising, texts",
    )
