"""Minimal pairs: a sentence that is good beside one that is not, as BLiMP writes them.

    {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps.", "UID": "agreement",
     "field": "morphology", "linguistics_term": "subject_verb_agreement"}

Takes a document of JSON lines, gives `MinimalPair`s; called by `tasks/minimal_pairs.py`. Names of
the paradigm may be missing (the file's name stands for it), the two sentences may not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.text.json_lines import read_json_lines
from elman.text.reader import Document

_FORM = '{"sentence_good": "…", "sentence_bad": "…", "UID": "…"}'
_PARADIGMS = ("UID", "uid", "paradigm")


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences that differ in little, and what they test."""

    good: str
    bad: str
    paradigm: str  # the rule that they test
    field: str = ""  # a part of linguistics: syntax, morphology …
    term: str = ""  # the phenomenon, which several paradigms share


def read_minimal_pairs(document: Document) -> list[MinimalPair]:
    """The pairs of a document, in their order."""
    name = Path(document.name.removesuffix(".gz")).stem
    entries = read_json_lines(document, _FORM)
    pairs = [_pair(entry, name, where) for where, entry in entries if entry is not None]
    if not pairs:
        raise InputError(f"{document.name}: has no pairs; write one per line: {_FORM}")
    return pairs


def _pair(entry: dict[str, Any], file: str, where: str) -> MinimalPair:
    good, bad = (_sentence(entry, name, where) for name in ("sentence_good", "sentence_bad"))
    if good == bad:
        raise InputError(f"{where}: the two sentences are the same; one must be worse")
    paradigm = next((entry[name] for name in _PARADIGMS if entry.get(name)), file)
    words = (paradigm, entry.get("field") or "", entry.get("linguistics_term") or "")
    return MinimalPair(good, bad, *(" ".join(str(word).split()) for word in words))


def _sentence(entry: dict[str, Any], name: str, where: str) -> str:
    sentence = entry.get(name)
    if not isinstance(sentence, str) or not sentence.strip():
        raise InputError(f"{where}: has no {name!r}; write {_FORM}")
    if "\n" in sentence.strip():
        raise InputError(f"{where}: {name!r} has a line end in it; write one line")
    return sentence.strip()
