"""`elman data`: describe a file, a folder or a built-in corpus."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import Json
from elman.cli.output import note, print_json, print_table
from elman.errors import InputError
from elman.figures.files import make_folder, writing
from elman.text import guess_tokenizer
from elman.text.corpora import CORPORA, open_corpus
from elman.text.file_shapes import looks_like
from elman.text.reader import Document


def data(
    name: str | None = None,
    /,
    *,
    write: str | None = None,
    json: Json = False,
) -> None:
    """Describe a text file, a folder of splits, or a built-in corpus.

    For example:
      elman data
      elman data my-text.txt
      elman data grammar --write grammar-files

    Parameters
    ----------
    name
        A file, a folder or a built-in corpus. Default: list the built-in corpora.
    write
        Write the splits as text files into this folder, for other tools.
    """
    if write == "" or (write is not None and name is None):
        raise InputError("--write needs a dataset and a folder: elman data NAME --write FOLDER")
    if name is None:
        _list(json)
        return

    corpus = open_corpus(name)
    documents = corpus.documents
    splits = {split: _facts(document) for split, document in documents.items()}
    notes = [*corpus.notes, *(n for document in documents.values() for n in document.notes)]
    tokenizer = guess_tokenizer(next(iter(documents.values())).text)
    if shape := looks_like(corpus.whole or next(iter(documents.values()))):
        notes.append(f"this looks like {shape}, not running text")
    if write is not None:
        _write(Path(write), {split: document.text for split, document in documents.items()})
    if json:
        print_json({"name": corpus.name, "splits": splits, "notes": notes, "tokenizer": tokenizer})
        return
    columns = ["lines", "empty_lines", "words", "distinct_words", "characters"]
    print_table(
        ["split", *(column.replace("_", " ") for column in columns), "source"],
        [[split, *(facts[c] for c in columns), facts["source"]] for split, facts in splits.items()],
    )
    for message in notes:
        note(message)
    print(f"suggested tokenizer: {tokenizer}")


def _list(json: bool) -> None:
    """List the built-in corpora."""
    built_in = {name: corpus.about for name, corpus in CORPORA.items()}
    if json:
        print_json(built_in)
        return
    print_table(["corpus", "what it is"], [*built_in.items()])
    print("next: elman data grammar, or elman data FILE")


def _facts(document: Document) -> dict[str, Any]:
    words = document.text.split()
    return {
        "source": document.name,
        "lines": document.lines,
        "empty_lines": document.empty_lines,
        "words": len(words),
        "distinct_words": len(set(words)),
        "characters": len(document.text),
        "sha256": document.sha256(),
    }


def _write(folder: Path, texts: dict[str, str]) -> None:
    paths = {split: make_folder(folder) / f"{split}.txt" for split in texts}
    for path in paths.values():  # check all of them before writing the first
        if path.exists():
            raise InputError(f"{path}: exists already; choose another folder")
    for split, text in texts.items():
        with writing(paths[split]) as temporary:
            temporary.write_text(text, encoding="utf-8")
    note(f"wrote {', '.join(f'{split}.txt' for split in texts)} into {folder}")
