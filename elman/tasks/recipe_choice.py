"""Choose a recipe from the data, for a training with a budget and no recipe.

    running text                         quick; small for short texts and small budgets, hour for
                                         long texts and large budgets
    words with tags, CoNLL or JSON       tagger
    texts with labels, trees             classifier
    one folder or list per label         classifier
    pairs of texts, parallel files       translator
    questions on passages (SQuAD)        answerer

Takes the value of --data, gives the name of a recipe. The content decides; data that could be two
things is refused, never guessed. Called by `task.py`.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path

from elman.errors import InputError
from elman.tasks.classification.reader import FASTTEXT, read_labelled, split_labels
from elman.tasks.translation.parallel import stem_and_ending
from elman.text import files
from elman.text.corpora import CORPORA, open_corpus
from elman.text.file_shapes import looks_like
from elman.text.label_folders import find_label_folders
from elman.text.label_lists import are_clearly_labels
from elman.text.reader import Document
from elman.text.running_text import SAVED_DATASETS, find_files
from elman.text.split_names import SPLIT_NAMES
from elman.text.tables import read_table, table_separator
from elman.text.token_lists import has_token_lists
from elman.training.budget import Budget

_SMALL_TEXT = 1_000_000  # characters
# Budgets from which two layers pay, and from which the regularisation of `hour` pays.
_LONG_SECONDS, _LONG_TERAFLOP = 600.0, 35.0
_HOUR_SECONDS, _HOUR_TERAFLOP = 2400.0, 120.0
_SAMPLE = 200_000  # characters
_FEWEST_LINES = 20  # that show what their first words are
_MOST_LABELS = 0.05  # different first words per line, if they are labels
_MOST_INSIDE = 0.1  # of the labels' occurrences that may be inside the texts
_MOST_NUMBERED = 0.5  # of the texts that may have a digit: in a log, most lines have one
MOST_REPEATED = 0.3  # different labels per row of a table
_DIGIT = re.compile(r"\d")
TREE = re.compile(r"\s*\(\S+ \(")
PAIRS = ("copy", "reverse", "sort", "number-words")  # built-in corpora
_NAME_IT = "name a recipe: elman train RECIPE --data … --budget …"


def choose_recipe(data: str, budget: Budget, roles: Collection[str] = ()) -> str:
    """The recipe for the data of a path or a built-in corpus.

    `roles`: those of the columns that the user named, which say what a table contains.
    """
    built_in = data.partition(":")[0]
    if built_in in CORPORA and not os.path.exists(data):
        return "reverse" if built_in in PAIRS else "small"
    if find_label_folders(data) or are_clearly_labels(data):
        return "classifier"
    if is_parallel(data):
        return "translator"
    if {"source", "target"} & {*roles}:
        return "translator"
    if {"label", "text2"} & {*roles}:
        return "classifier"
    if roles or is_text_of_many_files(data):  # a column of text
        return _of_size(_size_of_files(data), budget)
    corpus = open_corpus(data)
    document = corpus.whole or corpus.split("train")
    shape = looks_like(document)
    if shape is None:
        return _of_text(document, budget)
    if shape.startswith("CoNLL") or has_token_lists(document):
        return "tagger"
    if shape.startswith("JSON") and is_squad(document):
        return "answerer"
    if shape == "JSON":
        raise InputError(
            f"{document.name}: is JSON, but not in the format of SQuAD, so --budget cannot choose "
            f"a recipe; {_NAME_IT}"
        )
    return _of_table(document)


def is_parallel(data: str) -> bool:
    """Whether two files of a folder have the same name but for its last part, as train.en and
    train.de.
    """
    path = Path(data)
    try:
        if os.path.isdir(path):
            found = files.local_files(path)
        elif data and not os.path.exists(path) and os.path.isdir(path.parent):
            inside = files.local_files(path.parent)
            found = [file for file in inside if file.name.startswith(path.name)]
        else:
            return False
    except OSError:
        return False  # opening the corpus reports it
    endings: dict[str, set[str]] = defaultdict(set)
    for file in found:
        stem, ending = stem_and_ending(Path(files.without_rotation(file.name)))
        if ending:
            endings[stem].add(ending)
    splits = {name for names in SPLIT_NAMES.values() for name in names}
    return any(len(some - splits) > 1 for some in endings.values())


def is_text_of_many_files(data: str) -> bool:
    """Whether data is in files that only language models read: several per split, a pattern, an
    address, or a dataset of Hugging Face.
    """
    try:
        found = find_files(data)
    except InputError:
        if files.is_pattern(data):
            raise
        return False  # opening the corpus reports it
    several = any(len(some) > 1 for some in found.values())
    saved = any(os.path.exists(os.path.join(data, name)) for name in SAVED_DATASETS)
    return several or files.is_remote(data) or bool(files.expand(data)) or saved


def _size_of_files(data: str) -> int:
    """The bytes of the files that are trained on."""
    found = find_files(data)
    return sum(files.size_of(one) or 0 for one in found.get("", []) or found.get("train", []))


def _of_text(document: Document, budget: Budget) -> str:
    if TREE.match(document.text) or has_labels_first(document.text):
        return "classifier"
    return _of_size(len(document.text), budget)


def _of_size(characters: int, budget: Budget) -> str:
    if characters <= _SMALL_TEXT or not _reaches(budget, _LONG_SECONDS, _LONG_TERAFLOP):
        return "small"
    return "hour" if _reaches(budget, _HOUR_SECONDS, _HOUR_TERAFLOP) else "quick"


def _reaches(budget: Budget, seconds: float, teraflop: float) -> bool:
    return (budget.seconds or 0.0) >= seconds or (budget.teraflop or 0.0) >= teraflop


def has_labels_first(text: str) -> bool:
    """Whether every line begins with one of a few words that the texts after them rarely have, or
    with a label in the form of fastText.

    The lines of a log do too ("INFO", "status"). But most of them have numbers, addresses or
    versions.
    """
    end = text.rfind("\n", 0, _SAMPLE) if len(text) > _SAMPLE else len(text)
    different = dict.fromkeys(text[:end].split("\n"))
    lines = [split_labels(line) for line in different if line.strip()]
    texts = [text.split() for _, text in lines]
    if not all(texts):
        return False
    if lines and all(first.startswith(FASTTEXT) for (first, *_), _ in lines):
        return True
    labels = Counter(first for (first, *_), _ in lines)
    if len(lines) < _FEWEST_LINES or not 2 <= len(labels) <= max(2, _MOST_LABELS * len(lines)):
        return False
    numbered = sum(any(map(_DIGIT.search, words)) for words in texts)
    if numbered > _MOST_NUMBERED * len(lines):
        return False
    inside = sum(word in labels for words in texts for word in words)
    return inside <= _MOST_INSIDE * len(lines)


def is_squad(document: Document) -> bool:
    """Whether a JSON document has the format of SQuAD."""
    sample = document.text[:_SAMPLE]
    return '"paragraphs"' in sample and '"qas"' in sample


def _of_table(document: Document) -> str:
    """Labels repeat; the translations of different texts do not."""
    separator = table_separator(document)
    assert separator is not None, "it looks like a table"
    table = read_table(document, separator)
    first = {str(cell).strip().lower() for cell in table.names or table.rows[0][1]}
    if {"source", "target"} <= first or {"en", "de"} <= first:
        return "translator"
    try:
        examples = read_labelled(Document(document.name, document.text))
    except InputError as error:
        raise InputError(
            f"{error}; --budget cannot choose a recipe for this table; {_NAME_IT}"
        ) from None
    labels = len({label for example in examples for label in example.all_labels})
    if labels <= max(2, MOST_REPEATED * len(examples)):
        return "classifier"
    if table.width == 2:
        return "translator"
    raise InputError(
        f"{document.name}: its {len(examples):,} rows have {labels:,} different labels, so it is "
        f"not clear what to learn; {_NAME_IT}"
    )
