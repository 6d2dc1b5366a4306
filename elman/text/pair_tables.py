"""Minimal pairs in tables: two sentences per row, or one sentence with two forms of a word.

    good               bad                   sentence                        good  bad   n_attr
    Cats sleep .       Cats sleeps .         The keys to the cabinet ___ .   are   is    1

    sentence
    The keys to the cabinet [are|is] here .                    the right form comes first

Takes a document and the columns that the user names, gives a `PairFile`; called by
`tasks/language_modelling/minimal_pairs.py`. In a sentence, the two forms replace a mark (___,
***mask***, [MASK], <mask>), the word at a position (`index`), or the only place where one of them
occurs. `read_gold` reads line-aligned files as of Gulordava et al. (2018): NAME.text, NAME.gold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elman.errors import InputError, nearest
from elman.text.files import bare_name
from elman.text.minimal_pairs import IDENTICAL, MinimalPair, PairFile, SkippedLine
from elman.text.reader import Document
from elman.text.tables import read_table, table_separator

_ROLES = {
    "good": ("sentence_good", "good", "grammatical", "correct", "right", "correct_form"),
    "bad": ("sentence_bad", "bad", "ungrammatical", "incorrect", "wrong", "wrong_form"),
    "sentence": ("sentence", "text", "masked_sentence"),
    "index": ("index", "position", "verb_index", "target_index"),
    "paradigm": ("uid", "paradigm", "phenomenon", "pattern", "construction", "type"),
    "field": ("field",),
    "term": ("linguistics_term", "term"),
    "attractors": ("attractors", "n_attr", "n_attractors", "n_diff_intervening"),
}
ROLES = tuple(_ROLES)
_MARK = re.compile(r"\*{2,3}\s?mask\s?\*{2,3}|\[MASK\]|<mask>|_{2,}")
_FORMS = re.compile(r"\[([^\[\]|]+)\|([^\[\]|]+)\]")
# Columns of *.gold files without a header, from 0: by Gulordava et al., and of their Linzen set.
_GOLD = {"paradigm": 0, "index": 3, "good": 6, "bad": 7}
_GOLD_OF_FOUR = {"index": 0, "good": 1, "bad": 2, "attractors": 3}


def read_pair_table(document: Document, columns: Mapping[str, str]) -> PairFile:
    """The pairs of a table; `columns` names the column of a role where the header does not."""
    separator = table_separator(document)
    if separator is None:
        raise InputError(f"{document.name}: is not a table; give columns separated by tabs")
    table = read_table(document, separator)
    rows = table.rows
    numbered = bool(columns) and all(column.isdigit() for column in columns.values())
    if table.names:
        names = table.names
    elif numbered:  # the file may have no header
        names = [str(number) for number in range(1, table.width + 1)]
    else:
        names, rows = [str(cell).strip() for cell in rows[0][1]], rows[1:]
    places = _find_columns(document.name, names, columns, guess=not numbered)
    return _read_rows(document, [(line, _cells(cells, places)) for line, cells in rows])


def is_pair_table(document: Document) -> bool:
    """Whether a table has pairs: columns with their usual names, or sentences with [two|forms]."""
    separator = table_separator(document)
    if separator in (None, "{"):
        return False
    header = [
        name.strip().lower() for name in document.text.split("\n", 1)[0].split(str(separator))
    ]
    found = {role for role, known in _ROLES.items() if {*known} & {*header}}
    marked = "sentence" in found and _FORMS.search(document.text) is not None
    return marked or {"good", "bad"} <= found


def read_gold(text: Document, gold: Document) -> PairFile:
    """The pairs of NAME.text (a sentence per line) and NAME.gold (position and the two forms)."""
    sentences = text.text.removesuffix("\n").split("\n")
    rows = read_table(gold, "\t").rows
    if len(rows) != len(sentences):
        raise InputError(
            f"{gold.name}: has {len(rows):,} lines, but {text.name} has {len(sentences):,}; they "
            "must match line by line"
        )
    width = len(rows[0][1])
    if width != 4 and width <= max(_GOLD.values()):
        raise InputError(f"{gold.name}: has {width} columns instead of 4, or 8 and more")
    places = _GOLD_OF_FOUR if width == 4 else _GOLD
    found = [
        (
            line,
            {**{role: str(cells[place]).strip() for role, place in places.items()}, "sentence": s},
        )
        for (line, cells), s in zip(rows, sentences, strict=True)
    ]
    return _read_rows(gold, found)


def _find_columns(
    file: str, names: Sequence[str], columns: Mapping[str, str], *, guess: bool
) -> dict[str, int]:
    lower = [name.lower() for name in names]
    found: dict[str, int] = {}
    for role, column in columns.items():
        if column not in names:
            raise InputError(f"{file}: has no column {column!r}; {nearest(column, names)}")
        found[role] = names.index(column)
    for role, known in _ROLES.items() if guess else ():
        here = [lower.index(name) for name in known if name in lower]
        if role not in found and here and here[0] not in found.values():
            found[role] = here[0]
    if "sentence" not in found and not {"good", "bad"} <= {*found}:
        raise InputError(
            f"{file}: which columns are the pair? Name them: --columns good=NAME,bad=NAME, or "
            f"--columns sentence=NAME for sentences with [two|forms] (there are {', '.join(names)})"
        )
    return found


def _cells(cells: Sequence[Any], places: Mapping[str, int]) -> dict[str, str]:
    return {
        role: "" if cells[place] is None else str(cells[place]).strip()
        for role, place in places.items()
    }


def _read_rows(document: Document, rows: list[tuple[int, dict[str, str]]]) -> PairFile:
    name = Path(bare_name(document.name)).stem
    pairs, skipped = [], []
    for line, row in rows:
        try:
            pairs.append(_read_pair(row, name))
        except InputError as error:
            skipped.append(SkippedLine(document.name, line, str(error)))
    if not pairs:
        reason = f", line {skipped[0].line}: {skipped[0].reason}" if skipped else ": has no rows"
        raise InputError(f"{document.name}{reason}")
    return PairFile(document.name, tuple(pairs), tuple(skipped))


def _read_pair(row: dict[str, str], file: str) -> MinimalPair:
    critical = None
    good, bad = row.get("good", ""), row.get("bad", "")
    if "sentence" in row:
        before, good, bad, after = _put_in(row["sentence"], good, bad, row.get("index", ""))
        start = len(before)
        critical = (start, start + len(good)), (start, start + len(bad))
        good, bad = f"{before}{good}{after}", f"{before}{bad}{after}"
    if not good or not bad:
        raise InputError(f"has no {'bad' if good else 'good'} sentence")
    if good == bad:
        raise InputError(IDENTICAL)
    names = (" ".join(row.get(role, "").split()) for role in ("paradigm", "field", "term"))
    paradigm, field, term = names
    return MinimalPair(
        good, bad, paradigm or file, field, term, critical, attractors=_attractors(row)
    )


def _attractors(row: dict[str, str]) -> int | None:
    written = row.get("attractors", "")
    if not written:
        return None
    try:
        return int(float(written))
    except ValueError:
        raise InputError(f"the number of attractors is {written!r}, not a number") from None


def _put_in(sentence: str, good: str, bad: str, index: str) -> tuple[str, str, str, str]:
    """The text before the forms, the forms, and the text after."""
    if not good and not bad:
        forms = _FORMS.search(sentence)
        if forms is None:
            raise InputError("has no forms: write [are|is] in the sentence, the right one first")
        start, end = forms.span()
        return sentence[:start], forms[1].strip(), forms[2].strip(), sentence[end:]
    if not good or not bad:
        raise InputError(f"has no {'bad' if good else 'good'} form")
    if mark := _MARK.search(sentence):
        return sentence[: mark.start()], good, bad, sentence[mark.end() :]
    words = [*re.finditer(r"\S+", sentence)]
    if index.isdigit():  # from 0 or from 1: where one of the forms is
        near = [n for n in (int(index), int(index) - 1) if 0 <= n < len(words)]
        places = [words[n] for n in near if words[n].group() in (good, bad)][:1]
    else:
        places = [word for word in words if word.group() in (good, bad)]
    if len(places) != 1:
        raise InputError(
            f"{good!r} or {bad!r} is not at one place of the sentence; mark it with ___"
        )
    return sentence[: places[0].start()], good, bad, sentence[places[0].end() :]
