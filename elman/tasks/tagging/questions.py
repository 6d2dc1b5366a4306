"""What can be asked of a tagger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.tasks.embed import EMBED
from elman.tasks.question import NAME, TEXT, Question, asked
from elman.tasks.tagging.columns import ColumnFile, looks_like_columns
from elman.tasks.tagging.task import TrainedTagger
from elman.text.reader import Document
from elman.text.tag_schemes import find_entities


@dataclass(frozen=True, kw_only=True)
class Tag:
    """Tag every word of a text.

    One word per line comes out, with its tag after a tab, and a blank line after every sentence.

    For example:
      elman tag runs/ner --text "John lives in New York"
      elman tag runs/ner sentences.txt > tagged.tsv
      elman tag runs/pos --columns treebank.conllu > tagged.conllu
      cat sentences.txt | elman tag runs/ner - --json
    """

    text: str = asked(
        "Sentences, one per line. Punctuation and clitics are split off as in the training data.",
        kind=TEXT,
        limit="texts",
    )
    columns: bool = asked(
        "The text is in columns (CoNLL, CoNLL-U), one word per line; keep its other columns.",
        default=False,
    )
    batch_size: int = asked(
        "How many sentences are read side by side. Never changes the result.",
        default=32,
        at_least=1,
        terminal=True,
    )
    name: str = asked("What messages call the text.", default="text", kind=NAME)


@dataclass(frozen=True)
class TaggedText:
    """The words and tags of every sentence, and the spans where tags mark such."""

    sentences: list[list[str]]
    tags: list[list[str]]
    marks_spans: bool
    table: ColumnFile | None = None  # the file in columns, if it was one
    remarks: list[str] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        return {
            "sentences": [
                {"words": words, "tags": tags}
                | ({"spans": _spans(words, tags)} if self.marks_spans else {})
                for words, tags in zip(self.sentences, self.tags, strict=True)
            ]
        }

    def lines(self) -> Iterable[str]:
        if self.table is not None:
            yield from self.table.with_tags(self.tags)
            return
        for words, tags in zip(self.sentences, self.tags, strict=True):
            yield from map("\t".join, zip(words, tags, strict=True))
            yield ""

    def notes(self) -> list[str]:
        return self.remarks


def _spans(words: Sequence[str], tags: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {**vars(entity), "text": " ".join(words[entity.start : entity.end])}
        for entity in find_entities(tags)
    ]


def tag(trained: TrainedTagger, request: Tag, progress: Progress) -> TaggedText:
    """A tag for every word."""
    document, settings = Document(request.name, request.text), trained.config.text
    remarks, table = [], None
    if request.columns:
        table = ColumnFile(document, settings.column, settings.features)
        sentences, given = table.sentences, table.given
    elif settings.features:
        raise InputError(
            f"{trained.name}: was trained with a column beside the words (text.features="
            f"{','.join(settings.features)}); give a file in columns, with --columns"
        )
    else:
        if looks_like_columns(document):
            how = "looks like a file in columns; tag it as one with --columns"
            remarks = [f"{document.name}: {how}"]
        sentences = trained.split_lines(request.text)
        given = [[*sentence] for sentence in sentences]
    tags = trained.tag(given, batch_size=request.batch_size, progress=progress)
    return TaggedText(sentences, tags, trained.marks_spans, table, remarks)


QUESTIONS = {"tag": Question(Tag, tag, unit="sentences"), "embed": EMBED}
