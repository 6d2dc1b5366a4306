"""`elman data get`: download a public corpus."""

from pathlib import Path

from elman.cli.arguments import Json
from elman.cli.output import live_line, note, print_json, print_table
from elman.errors import InputError
from elman.tasks.data_get import get_corpus
from elman.text.public_corpora import PublicCorpus, public_corpora, public_corpus

_PROGRESS = 5.0  # seconds between lines where there is no terminal


def get(name: str | None = None, /, *, out: str | None = None, json: Json = False) -> None:
    """Download a public corpus: resumable, verified, with its licence.

    An interrupted download continues where it stopped. Files that already exist are verified.
    Set ELMAN_DATA_URL to download from a mirror with one folder per corpus.

    For example:
      elman data get
      elman data get ptb
      elman data get wikitext-2 --out corpora/wikitext-2
      ELMAN_DATA_URL=http://course.example/corpora elman data get sst

    Parameters
    ----------
    name
        The name of a corpus. Default: list all of them.
    out
        The folder to write. Default: a folder with the name of the corpus.
    """
    if name is None:
        if out is not None:
            raise InputError("--out needs a corpus: elman data get NAME --out FOLDER")
        _list(json)
        return
    if out == "":
        raise InputError("--out is empty; name a folder")
    note(f"{name}: licence: {public_corpus(name).licence}")
    with live_line(_PROGRESS) as told:
        found = get_corpus(name, Path(out or name), told)
    if json:
        print_json(found.to_data())
        return
    rows = [[file.name, file.size, file.source, file.sha256[:16]] for file in found.files]
    print_table([f"in {found.folder}", "bytes", "", "SHA-256"], rows)
    print(f"next: {found.next}")


def _list(json: bool) -> None:
    corpora = public_corpora()
    if json:
        print_json({name: corpus.to_data() for name, corpus in corpora.items()})
        return
    rows = [
        [name, corpus.about, _megabytes(corpus), _files(corpus), corpus.licence]
        for name, corpus in corpora.items()
    ]
    print_table(["corpus", "what it is", "MB", "files", "licence"], rows)
    print("MB: size of the download; ? means that the publisher updates the file")
    print("next: elman data get ptb")


def _megabytes(corpus: PublicCorpus) -> str:
    return "?" if corpus.size is None else f"{corpus.size / 1e6:,.1f}"


def _files(corpus: PublicCorpus) -> str:
    first, *others = (name for file in corpus.files for name in file.results())
    return f"{first} + {len(others)}" if others else first
