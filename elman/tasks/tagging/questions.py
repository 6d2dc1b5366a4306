"""The questions of a tagger; a file in columns keeps everything except its tags.

    1  From  from  ADP  IN  _  3  case  3:case  _      CoNLL-U: the new tag replaces the old one
    Confidence NN B-NP   →   Confidence NN B-NP B-NP   others: the new tag follows the last column

Comments, blank lines, multiword tokens and empty nodes stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.tasks.embed import EMBED
from elman.tasks.question import NAME, TEXT, Answer, Question, asked, asked_batch_size
from elman.tasks.tagging.reader import (
    FORM,
    MISC,
    Word,
    blocks,
    place_of_tags,
    places_of_features,
    sentences_in,
)
from elman.tasks.tagging.task import TrainedTagger
from elman.text.reader import Document
from elman.text.tag_schemes import find_entities


@dataclass(frozen=True, kw_only=True)
class Tag:
    """Tag every word of a text.

    The output has one word per line, with its tag after a tab, and a blank line after each
    sentence.

    For example:
      elman tag runs/ner --text "John lives in New York"
      elman tag runs/ner sentences.txt > tagged.tsv
      elman tag runs/ner sentences.txt --probabilities
      elman tag runs/pos --columns treebank.conllu > tagged.conllu
      cat sentences.txt | elman tag runs/ner - --json
    """

    text: str = asked(
        "Sentences, one per line. Punctuation and clitics are split off as in the training data.",
        kind=TEXT,
        limit="texts",
    )
    columns: bool = asked(
        "Read the text as columns (CoNLL, CoNLL-U), one word per line, and keep the other columns.",
        default=False,
    )
    probabilities: bool = asked(
        "Add the probability of each tag: after the tag, and in JSON the probabilities of all tags "
        "of every word. In CoNLL-U files it is the entry TagProbability of the last column.",
        default=False,
    )
    batch_size: int = asked_batch_size("sentences")
    name: str = asked("The name of the text in messages.", default="text", kind=NAME)


@dataclass(frozen=True)
class TaggedText(Answer):
    """The words and tags of every sentence, and the spans if the tags mark spans."""

    sentences: list[list[str]]
    tags: list[list[str]]
    marks_spans: bool
    table: ColumnFile | None = None  # the file in columns, if it was one
    remarks: list[str] = field(default_factory=list)
    probabilities: list[list[dict[str, float]]] | None = None  # of all tags of every word
    chosen: list[list[float]] | None = None  # the probabilities of the predicted tags

    def to_data(self) -> dict[str, Any]:
        results: list[dict[str, Any]] = [
            {"words": words, "tags": tags}
            | ({"spans": _spans(words, tags)} if self.marks_spans else {})
            for words, tags in zip(self.sentences, self.tags, strict=True)
        ]
        for result, probabilities in zip(results, self.probabilities or [], strict=False):
            result["probabilities"] = probabilities
        return {"sentences": results}

    def lines(self) -> Iterable[str]:
        if self.table is not None:
            yield from self.table.with_tags(self.tags, self.chosen)
            return
        for number, (words, tags) in enumerate(zip(self.sentences, self.tags, strict=True)):
            columns: list[Sequence[str]] = [words, tags]
            if self.chosen is not None:
                columns.append([*map(_share, self.chosen[number])])
            yield from map("\t".join, zip(*columns, strict=True))
            yield ""

    def notes(self) -> list[str]:
        return self.remarks


def _spans(words: Sequence[str], tags: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {**vars(entity), "text": " ".join(words[entity.start : entity.end])}
        for entity in find_entities(tags)
    ]


def tag(trained: TrainedTagger, request: Tag, progress: Progress) -> TaggedText:
    """Tag every word."""
    document, settings = Document(request.name, request.text), trained.config.text
    remarks, table = [], None
    if request.columns:
        table = ColumnFile(document, settings.column, settings.features)
        sentences, given = table.sentences, table.given
    elif settings.features:
        raise InputError(
            f"{trained.name}: this tagger was trained with further columns (text.features="
            f"{','.join(settings.features)}); give a file with these columns and --columns"
        )
    else:
        if looks_like_columns(document):
            how = "looks like a file in columns; tag it as one with --columns"
            remarks = [f"{document.name}: {how}"]
        sentences = trained.split_lines(request.text)
        given = [[*sentence] for sentence in sentences]
    tags = trained.tag(given, batch_size=request.batch_size, progress=progress)
    if not request.probabilities:
        return TaggedText(sentences, tags, trained.marks_spans, table, remarks)
    found = trained.probabilities(given, batch_size=request.batch_size, progress=progress)
    chosen = [
        [row.get(trained.as_marginal(tag), 0.0) for tag, row in zip(*one, strict=True)]
        for one in zip(tags, found, strict=True)
    ]
    return TaggedText(sentences, tags, trained.marks_spans, table, remarks, found, chosen)


def _share(probability: float) -> str:
    return f"{probability:.4f}"


def looks_like_columns(document: Document) -> bool:
    """Whether lines look like columns: the same number on each, in blocks between blank lines."""
    found = [rows for _, rows in blocks(document)]
    widths = {len(row) for rows in found for row in rows}
    return (
        len(found) > 1 and any(len(rows) > 1 for rows in found) and widths in ({2}, {3}, {4}, {10})
    )


class ColumnFile:
    """A file in columns: its lines, and which of them are words of sentences."""

    def __init__(self, document: Document, column: str = "", features: Sequence[str] = ()) -> None:
        """`column`: the tag column of CoNLL-U, default upos; `features`: further input columns."""
        self._lines = document.text.removesuffix("\n").split("\n")
        self._separator = "\t" if "\t" in document.text else " "
        self._places: list[tuple[list[int], int | None]] = []  # lines of a sentence; tag column
        self.sentences: list[list[str]] = []
        self.given: list[list[Word]] = []  # input of the tagger: words, with features if any
        for conllu, width, rows in sentences_in(document):
            place = None
            if conllu:
                place = place_of_tags(document.name, column, width, conllu)
            beside = places_of_features(document.name, features, width, conllu)
            word = FORM if conllu else 0
            self._places.append(([number - 1 for number, _ in rows], place))
            self.sentences.append([row[word] for _, row in rows])
            self.given.append(
                [(row[word], *(row[n] for n in beside)) if beside else row[word] for _, row in rows]
            )

    def with_tags(
        self, tagged: Sequence[Sequence[str]], chosen: Sequence[Sequence[float]] | None = None
    ) -> list[str]:
        """The lines with a tag for every word; `chosen`: the probabilities of these tags."""
        lines = [*self._lines]
        for sentence, (numbers, place) in enumerate(self._places):
            shares = [None] * len(numbers) if chosen is None else map(_share, chosen[sentence])
            for number, tag, share in zip(numbers, tagged[sentence], shares, strict=True):
                if place is None:
                    lines[number] += self._separator.join(["", tag, *([share] if share else [])])
                else:
                    row = lines[number].split("\t")
                    row[place] = tag
                    if share:
                        row[MISC] = _with_entry(row[MISC], f"TagProbability={share}")
                    lines[number] = "\t".join(row)
        return lines


def _with_entry(entries: str, added: str) -> str:
    """The last column of CoNLL-U with one more entry, which replaces one of the same name."""
    name = added.partition("=")[0]
    kept = [one for one in entries.split("|") if one != "_" and one.partition("=")[0] != name]
    return "|".join([*kept, added])


QUESTIONS = {"tag": Question(Tag, tag, unit="sentences"), "embed": EMBED}
