"""Find the dataset of a table.

Copyrighted datasets are not part of the package. Name a folder with --data, or set ELMAN_DATA to a
folder that contains the datasets as subfolders (`ptb` and so on).
"""

from __future__ import annotations

import os

from elman.errors import InputError
from elman.experiments.reproduce.registry import PublishedRow, PublishedTable
from elman.text.corpora import CORPORA

VARIABLE = "ELMAN_DATA"


def find_data(table: PublishedTable, folder: str = "", *, holds: bool = False) -> str | None:
    """The dataset of a table: in `folder`, otherwise in ELMAN_DATA; None if it is missing.

    `folder` is the dataset itself or contains it as a subfolder; with `holds`, only the latter.
    """
    if table.data.partition(":")[0] in CORPORA:
        return table.data
    home = folder or os.environ.get(VARIABLE, "")
    if not table.data or not home:
        return None
    inside = os.path.join(home, table.data)
    if os.path.exists(inside):
        return inside
    return folder if folder and not holds else None


def require_data(table: PublishedTable, folder: str = "", *, holds: bool = False) -> str:
    """The dataset of a table, or an error that says how to name it."""
    found = find_data(table, folder, holds=holds)
    if found is None:
        raise InputError(
            f"{table.name}: the dataset {table.data!r} is missing; name its folder with --data "
            f"FOLDER, or set {VARIABLE} to a folder that contains it"
        )
    return found


def rows_with_text(
    tables: list[PublishedTable], folder: str = "", *, holds: bool = False
) -> tuple[list[tuple[PublishedTable, PublishedRow, str]], list[PublishedTable]]:
    """The rows whose dataset was found, each with it; and the tables whose dataset is missing.

    If there is only one table, its dataset must be there.
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
