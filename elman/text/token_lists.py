"""Tagged sentences as JSON lines: lists of words and tags, as Hugging Face datasets have them.

    {"tokens": ["Ann", "lives", "here"], "tags": ["B-PER", "O", "O"]}

Takes a document, gives pairs of words and tags; called by the reader of tagged sentences and by the
functions that recognise data. The words are in `tokens` or `words`; the tags in `tags` or in
another field that the user names. Tags are texts: numbers need their names first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from elman.errors import InputError
from elman.text.reader import Document
from elman.text.tables import read_json_lines

WORDS = ("tokens", "words")
TAGS = ("tags", "ner_tags", "pos_tags", "labels")
_SAMPLE = 1_000_000  # characters of the first line
EXAMPLE = '{"tokens": ["…"], "tags": ["…"]}'


def has_token_lists(document: Document) -> bool:
    """Whether the first line is an object with lists of words and tags of the same length."""
    first = document.beginning(_SAMPLE).lstrip().split("\n", 1)[0]
    if not first.startswith("{"):
        return False
    try:
        entry = json.loads(first)
    except (ValueError, RecursionError):
        return False
    words = _words(entry) if isinstance(entry, dict) else None
    return isinstance(words, list) and any(
        isinstance(entry.get(name), list) and len(entry[name]) == len(words) for name in TAGS
    )


def read_token_lists(
    document: Document, column: str = ""
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words and tags of every sentence; `column`: the field of the tags."""
    name = column
    for where, entry in read_json_lines(document, EXAMPLE):
        if entry is None:
            continue
        if not name:
            name = next((one for one in TAGS if one in entry), TAGS[0])
            note = f"{document.name}: JSON lines, tags = {name}"
            document.notes.extend([note] * (note not in document.notes))
        words, tags = _words(entry), entry.get(name)
        if not isinstance(words, list):
            raise InputError(f"{where}: has no list of words; write {EXAMPLE}")
        if not isinstance(tags, list):
            raise InputError(
                f"{where}: has no list of tags in {name!r}; name their field with "
                "--set text.column=NAME"
            )
        if len(words) != len(tags):
            raise InputError(
                f"{where}: has {len(words)} words and {len(tags)} tags; write one tag for each word"
            )
        if not all(isinstance(tag, str) for tag in tags):
            raise InputError(
                f"{where}: has tags that are not texts, such as {json.dumps(_other(tags))}; write "
                "the name of each tag, like B-PER"
            )
        if not all(isinstance(word, str) and word.strip() for word in words):
            raise InputError(
                f"{where}: has an empty word, or one that is not a text; correct the line or leave "
                "it out"
            )
        if not all(map(str.strip, tags)):
            raise InputError(f"{where}: the tag of a word is empty; write one for every word")
        if words:
            yield tuple(words), tuple(tags)


def _words(entry: dict[str, Any]) -> Any:
    return next((entry[name] for name in WORDS if name in entry), None)


def _other(tags: list[Any]) -> Any:
    return next(tag for tag in tags if not isinstance(tag, str))
