"""Find the text of a table.

Takes a table and the option of the user, gives a folder. Copyrighted texts are not part of the
package: name a folder with --data, or put such folders, named `ptb` and so on, into the folder that
ELMAN_DATA names.
"""

from __future__ import annotations

import os

from elman.errors import InputError
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable
from elman.text.corpora import CORPORA, Corpus, open_corpus

VARIABLE = "ELMAN_DATA"


def find_data(table: PublishedTable, folder: str = "", *, holds: bool = False) -> str | None:
    """The text of a table: in the folder given, else where ELMAN_DATA says; None if it is absent.

    The folder is that of the text or holds it under its name; with `holds`, only the latter.
    """
    if table.data in CORPORA:
        return table.data
    home = folder or os.environ.get(VARIABLE, "")
    if not table.data or not home:
        return None
    inside = os.path.join(home, table.data)
    if os.path.exists(inside):
        return inside
    return folder if folder and not holds else None


def require_data(table: PublishedTable, folder: str = "", *, holds: bool = False) -> str:
    """The same, or an error that says how to give it."""
    found = find_data(table, folder, holds=holds)
    if found is None:
        raise InputError(
            f"{table.name}: needs the text {table.data!r}; name its folder with --data FOLDER, or "
            f"the folder that holds a folder {table.data!r} in {VARIABLE}"
        )
    return found


def rows_with_text(
    tables: list[PublishedTable], folder: str = "", *, holds: bool = False
) -> tuple[list[tuple[PublishedTable, PublishedRow, str]], list[PublishedTable]]:
    """The rows of these tables whose text is here, with it; and the tables whose text is not.

    A lone table's text must be here.
    """
    if len(tables) == 1 and tables[0].data:
        require_data(tables[0], folder, holds=holds)
    found, absent = [], []
    for table in tables:
        text = find_data(table, folder, holds=holds)
        if table.data and text is None:
            absent.append(table)
        else:
            found += [(table, row, text or "") for row in table.rows]
    return found, absent


def open_data(data: str) -> Corpus:
    """The corpus, or an error if it lacks a split: a file of one's own is no table's text."""
    corpus = open_corpus(data)
    for split in ("train", "valid", "test"):
        corpus.split(split)
    return corpus
