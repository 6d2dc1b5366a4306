"""Parallel files: line n of one is line n of the other, in another language.

    train.en  train.de  val.en.gz  val.de.gz  test_2016_flickr.lc.norm.tok.en …

Takes a folder, the common prefix of two files (`wmt/newstest2014`), a file with both sides
(`pairs.py`) or a built-in corpus, returns a `Corpus` of pairs; called by the translation task. A
file name begins with its split and ends with its language, with or without .txt and .gz. If a
folder has several files for a split, choose one by its name: `--split test_2016_flickr`.
"""

import os
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from elman.errors import InputError
from elman.tasks.translation.pairs import Pair, PairDocument
from elman.tasks.translation.vectors import is_vectors, read_vectors
from elman.text.corpora import Corpus, open_corpus
from elman.text.files import bare_name, local_files
from elman.text.reader import Document, read_document
from elman.text.split_names import SPLIT_NAMES, SPLITS
from elman.text.task_config import PairConfig

_PLAIN = re.compile(r"(\.txt|\.tok)?(\.gz)?$")  # endings that do not matter
_OF_THE_RECIPE = ("en", "de")  # the source and target of `translator`
_BOTH_SIDES = {"tsv", "jsonl", "json", "csv"}  # endings of files with both sides of each pair


def open_parallel(data: str, config: PairConfig) -> Corpus:
    """Open the pairs of a path or a built-in corpus."""
    path = Path(data)
    if os.path.isdir(path):
        files = local_files(path)
        config, notes = _languages_there(files, config)
        found = _pairs_of_files(files, config)
        if not found:
            return _other_folder(data, path, config)
        corpus = _named(data, {stem: _together(*both) for stem, both in found.items()})
        next(iter(corpus.documents.values())).notes.extend(notes)
        return corpus
    if data and not os.path.exists(path) and os.path.isdir(path.parent):
        begun = [file for file in local_files(path.parent) if file.name.startswith(path.name)]
        found = _pairs_of_files(begun, config)
        if len(found) == 1:
            whole = _together(*next(iter(found.values())))
            return Corpus(data, dict.fromkeys(SPLITS, whole), whole)
        if found:
            documents = {stem: _together(*files) for stem, files in found.items()}
            return _named(data, documents)
    return open_corpus(data)


def _languages_there(files: list[Path], config: PairConfig) -> tuple[PairConfig, list[str]]:
    """The two languages of a folder without those of the recipe, English first, and a note.

    Sides that the user has chosen stay as they are.
    """
    endings: dict[str, set[str]] = defaultdict(set)
    for path in files:
        stem, ending = stem_and_ending(path)
        endings[stem].add(ending)
    there = {*endings} and set.union(*endings.values()) - {""}
    chosen = (config.source, config.target) != _OF_THE_RECIPE
    if chosen or len(there) != 2 or there == {*_OF_THE_RECIPE} or there & _BOTH_SIDES:
        return config, []
    if not any(there <= some for some in endings.values()):
        return config, []
    source, target = sorted(there, key=lambda one: (one != _OF_THE_RECIPE[0], one))
    note = (
        f"from {source} to {target}, the languages of the folder; for the other direction: "
        f"--set text.source={target} --set text.target={source}"
    )
    return replace(config, source=source, target=target), [note]


def _other_folder(data: str, folder: Path, config: PairConfig) -> Corpus:
    """Open a folder of files with both sides each, or report the missing files."""
    endings = sorted({stem_and_ending(path)[1] for path in local_files(folder)} - {""})
    if endings and _BOTH_SIDES.issuperset(endings):
        return open_corpus(data)
    inside = sorted(path.name for path in folder.iterdir() if path.is_dir())
    if inside and not endings:
        raise InputError(f"{data}: has folders only ({', '.join(inside)}); give one of them")
    there = ", ".join(endings) or "nothing"
    raise InputError(
        f"{data}: there are no two files like train.{config.source} and train.{config.target}; "
        f"found names that end in {there}; choose with --set text.source=… --set text.target=…"
    )


def stem_and_ending(path: Path) -> tuple[str, str]:
    """`train.lc.tok` and `en` of `train.lc.tok.en.gz`."""
    name = _PLAIN.sub("", path.name)
    if "." not in name:
        name = bare_name(path.name)  # train.txt, beside train.npy
    stem, _, ending = name.rpartition(".")
    return (stem, ending) if stem else (name, "")


def _pairs_of_files(files: list[Path], config: PairConfig) -> dict[str, tuple[Path, Path]]:
    """The two files of each pair, by their common prefix."""
    sides: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in files:
        stem, ending = stem_and_ending(path)
        sides[stem][ending].append(path)
    found = {}
    for stem, endings in sides.items():
        sources, targets = endings.get(config.source, []), endings.get(config.target, [])
        for several in (sources, targets):
            if len(several) > 1:
                names = " and ".join(path.name for path in several)
                raise InputError(f"{names}: these are the same text twice; remove one of them")
        if sources and targets:
            found[stem] = sources[0], targets[0]
        elif (sources or targets) and _split_of(stem):
            (alone,) = sources or targets
            role = "target" if sources else "source"
            missing = getattr(config, role)
            others = sorted({*endings} - {config.source, config.target, ""})
            choice = "choose others with text.source and text.target"
            if others:
                choice = f"take {stem}.{others[0]} with --set text.{role}={others[0]}"
            raise InputError(
                f"{alone}: has no other side; put {stem}.{missing} beside it, or {choice}"
            )
    return found


def _together(source: Path, target: Path) -> PairDocument:
    """Read two files as one document of pairs; they must have the same number of lines."""
    right = read_document(target)
    targets = _lines(right)
    sources, notes = _read_sources(source)
    if len(sources) != len(targets):
        unit = "sources" if is_vectors(source) else "lines"
        raise InputError(
            f"{source} has {len(sources):,} {unit} and {target} has {len(targets):,} lines; "
            "line n of one must belong to line n of the other"
        )
    pairs = [Pair(source, target) for source, target in zip(sources, targets, strict=True)]
    if not any(pair.whole for pair in pairs):
        raise InputError(f"{source}: no line has text in {target.name} too; give some")
    return PairDocument.of(f"{source} + {target.name}", pairs, [*notes, *right.notes])


def _read_sources(path: Path) -> tuple[list[Any], list[str]]:
    """Texts or vectors, with their notes."""
    if is_vectors(path):
        return read_vectors(path), []
    document = read_document(path)
    return [*_lines(document)], document.notes


def _lines(document: Document) -> list[str]:
    """Lines with tabs replaced by spaces; a tab separates the sides of a pair."""
    text = document.text
    if "\t" in text:
        document.notes.append(f"{text.count(chr(9)):,} tabs were read as spaces")
        text = text.replace("\t", " ")
    return text.removesuffix("\n").split("\n")


def _split_of(stem: str) -> str | None:
    """The split that a name begins with."""
    word = re.split(r"[^a-z]", stem.lower(), maxsplit=1)[0]
    return next((split for split, names in SPLIT_NAMES.items() if word in names), None)


def _named(data: str, documents: dict[str, PairDocument]) -> Corpus:
    """Documents by split; those of a split that has several, by their own names."""
    by_split: dict[str | None, list[str]] = defaultdict(list)
    for stem in documents:
        by_split[_split_of(stem)].append(stem)
    named: dict[str, Document] = {}
    for split, stems in by_split.items():
        short = [stem.partition(".")[0] for stem in stems]
        names = short if len({*short}) == len(stems) else stems
        if split is not None and len(stems) == 1:
            names = [split]
        named |= {name: documents[stem] for name, stem in zip(names, stems, strict=True)}
    ordered = {name: named[name] for name in SPLITS if name in named}
    return Corpus(data, ordered | named)
