"""The questions of a classifier."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from elman.errors import InputError
from elman.evaluation.measures import Progress
from elman.tasks.classification.reader import SEPARATOR, read_unlabelled
from elman.tasks.classification.several import (
    MultiLabelledTexts,
)
from elman.tasks.classification.trained import Classified, Contribution, TrainedClassifier
from elman.tasks.embed import EMBED
from elman.tasks.question import (
    TEXTS,
    Answer,
    Question,
    aligned_lines,
    asked,
    asked_batch_size,
    make_request,
)
from elman.text.reader import Document
from elman.text.tables import parse_columns


@dataclass(frozen=True, kw_only=True)
class Classify:
    """Classify texts: the best label of each, with its probability.

    Every input line gives one output line. An empty line gets no label. A classifier of texts with
    several labels prints all labels above its threshold.

    For example:
      elman classify runs/films --text "a funny and stirring film"
      elman classify runs/films --text "a dull film" --explain
      elman classify runs/films reviews.txt --all > labels.tsv
      elman classify runs/bank queries.csv --columns text=utterance
      cat reviews.txt | elman classify runs/films - --json
    """

    texts: list[str | list[str]] = asked(
        "The texts to classify. In a file: one per line, with a tab between the two texts of a "
        "pair; or a table (CSV, JSON lines, others with --columns). In JSON: a list of texts; a "
        "pair is a list of two texts.",
        kind=TEXTS,
        limit="texts",
    )
    explain: bool = asked(
        "Show the contribution of each word: how much it raises the log probability of the label, "
        "in nats, compared with the text without it.",
        default=False,
    )
    all: bool = asked(
        "Print the probability of every label, one column each.", default=False, terminal=True
    )
    columns: str = asked(
        "The column of a table that contains the text: text=utterance, or text=premise,"
        "text2=hypothesis for pairs. Give names from the header, keys of JSON lines, or column "
        "numbers starting at 1. Default: common names and the columns of the training data.",
        default="",
        terminal=True,
    )
    batch_size: int = asked_batch_size("texts")

    @classmethod
    def from_document(
        cls, trained: TrainedClassifier, document: Document, given: dict[str, Any]
    ) -> Self:
        """The texts of a file: from the columns of a table, or one text per line."""
        columns = given.get("columns", "")
        typed = document.name == "--text"  # every line is a text, even if it looks like a table
        named = parse_columns(columns) if columns else {}
        if not typed:
            named = trained.text_columns(document, named)
        read = read_unlabelled(document, named, tables=not typed)
        texts = [one.texts[0] if len(one.texts) == 1 else [*one.texts] for one in read]
        request: Self = make_request(cls, given | {"texts": texts})
        return request


@dataclass(frozen=True)
class ClassifiedTexts(Answer):
    """Every text with its label, if it has words; contributions of words on request."""

    texts: list[str | list[str]]
    found: list[Classified | None]
    labels: list[str]
    words: list[list[Contribution]] | None = None
    all: bool = False

    def to_data(self) -> dict[str, Any]:
        nothing: dict[str, Any] = {"label": None, "probability": None, "probabilities": {}}
        results = [
            {"text": text, **(nothing if one is None else vars(one))}
            for text, one in zip(self.texts, self.found, strict=True)
        ]
        for result, words in zip(results, self.words or [], strict=False):
            result["words"] = [dict(vars(word)) for word in words]
        return {"results": results}

    def lines(self) -> Iterable[str]:
        return self._table() if self.words is None else self._explanations(self.words)

    def notes(self) -> list[str]:
        empty, texts = self.found.count(None), len(self.found)
        return [f"{empty:,} of {texts:,} texts are empty and get no label"] if empty else []

    def _table(self) -> Iterable[str]:
        """Tab-separated columns; an empty text keeps its line, so line n belongs to text n."""
        labels = self.labels if self.all else []
        yield "\t".join(["label", *(labels or ["probability"]), "text"])
        for text, one in zip(self.texts, self.found, strict=True):
            cells = [""] * (1 + (len(labels) or 1))
            if one is not None:
                shown = [one.probabilities[label] for label in labels] or [one.probability]
                cells = [one.label, *(f"{value:.4f}" for value in shown)]
            parts = [text] if isinstance(text, str) else text
            yield "\t".join([*cells, *(" ".join(part.split()) for part in parts)])

    def _explanations(self, words: list[list[Contribution]]) -> Iterable[str]:
        for number, (one, parts) in enumerate(zip(self.found, words, strict=True)):
            if number:
                yield ""
            yield "(empty)" if one is None else f"{one.label} ({one.probability:.4f})"
            if parts:
                yield from _word_lines(parts)


def _word_lines(words: list[Contribution]) -> list[str]:
    pairs = any(word.text == 2 for word in words)
    rows = [
        [
            *([str(word.text)] if pairs else []),
            word.word,
            None if word.contribution is None else f"{word.contribution:+.4f}",
        ]
        for word in words
    ]
    return aligned_lines([*(["text"] if pairs else []), "word", "nats for the label"], rows)


def classify(trained: TrainedClassifier, request: Classify, progress: Progress) -> Answer:
    """Classify every text."""
    if trained.task.several:
        return _classify_several(trained, request, progress)
    if request.all and request.explain:
        raise InputError("--all and --explain print different tables; give only one of them")
    texts, size = request.texts, request.batch_size
    found = trained.classify_lines(texts, batch_size=size, progress=progress)
    if not any(found):
        raise InputError("there is no text to classify; give some text")
    words = None
    if request.explain:
        words = []
        for text, one in zip(texts, found, strict=True):
            words.append([] if one is None else trained.explain(text, batch_size=size))
            progress(1, len(texts))
    return ClassifiedTexts(texts, found, trained.task.labels, words, request.all)


def _classify_several(trained: Any, request: Classify, progress: Progress) -> MultiLabelledTexts:
    if request.explain:
        raise InputError("--explain does not apply to texts with several labels; leave it out")
    found = trained.label_lines(request.texts, batch_size=request.batch_size, progress=progress)
    if not any(one is not None for one in found):
        raise InputError("there is no text to classify; give some text")
    separator = trained.config.text.label_separator or SEPARATOR
    return MultiLabelledTexts(request.texts, found, trained.task.labels, separator, request.all)


QUESTIONS = {"classify": Question(Classify, classify), "embed": EMBED}
