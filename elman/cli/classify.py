"""`elman classify`: the label of each text."""

from pathlib import Path
from typing import Any

from elman.cli.arguments import Columns, Json, Run, SideBySide
from elman.cli.input_text import GivenText, InputFile, read_given
from elman.cli.output import note, print_json, print_table
from elman.errors import InputError
from elman.tasks.classification.reader import read_unlabelled
from elman.tasks.classification.trained import Classified, Contribution, TrainedClassifier
from elman.tasks.sentence_training import load_kind
from elman.text.named_columns import parse_columns


def classify(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    all: bool = False,
    explain: bool = False,
    columns: Columns = None,
    batch_size: SideBySide = 32,
    json: Json = False,
) -> None:
    """The likeliest label of each text, with its probability, in columns with tabs between them.

    For example:
      elman classify runs/films --text "a funny and stirring film"
      elman classify runs/films --text "a dull film" --explain
      elman classify runs/films reviews.txt --all > labels.tsv
      elman classify runs/bank queries.csv --columns text=utterance
      cat reviews.txt | elman classify runs/films - --json

    An empty line has no label; it stays a line of the output, so that line n answers line n.

    Parameters
    ----------
    file
        Texts, one per line, of pairs with a tab between the two; or a table (CSV, JSON lines, or
        any with --columns). - for standard input.
    all
        The probability of every label, in a column each.
    explain
        What each word contributes: by how much it raises the log probability of the label, in
        nats, against the text without it.
    """

    if all and explain:
        raise InputError("--all and --explain are two tables; give one of them")
    trained: TrainedClassifier = load_kind(Path(run), "classifier")
    document = read_given(file, text)
    named = {} if columns is None else parse_columns(columns)
    if text is None:
        named = trained.text_columns(document, named)
    texts = [example.texts for example in read_unlabelled(document, named, tables=text is None)]
    found = trained.classify_lines(texts, batch_size=batch_size)
    if text is not None and found == [None]:
        raise InputError("--text is empty; give some text")
    if empty := found.count(None):
        note(f"empty texts, which get no label: {empty:,} of {len(found):,}")
    if explain:
        _explain(trained, texts, found, batch_size, json)
    elif json:
        print_json([_as_data(*pair) for pair in zip(texts, found, strict=True)])
    else:
        _print(trained, texts, found, all)


def _as_data(texts: tuple[str, ...], found: Classified | None) -> dict[str, Any]:
    nothing: dict[str, Any] = {"label": None, "probability": None, "probabilities": {}}
    answer = nothing if found is None else vars(found)
    return {"text": texts[0] if len(texts) == 1 else texts, **answer}


def _print(
    trained: TrainedClassifier,
    texts: list[tuple[str, ...]],
    found: list[Classified | None],
    every: bool,
) -> None:
    labels = trained.task.labels if every else []
    print("\t".join(["label", *(labels or ["probability"]), "text"]))
    for given, one in zip(texts, found, strict=True):
        cells = [""] * (1 + (len(labels) or 1))
        if one is not None:
            shown = [one.probabilities[label] for label in labels] or [one.probability]
            cells = [one.label, *(f"{value:.4f}" for value in shown)]
        print("\t".join([*cells, *(" ".join(text.split()) for text in given)]))


def _explain(
    trained: TrainedClassifier,
    texts: list[tuple[str, ...]],
    found: list[Classified | None],
    batch_size: int,
    json: bool,
) -> None:
    words = [
        [] if one is None else trained.explain(given, batch_size=batch_size)
        for given, one in zip(texts, found, strict=True)
    ]
    together = list(zip(texts, found, words, strict=True))
    if json:
        print_json([{**_as_data(given, one), "words": parts} for given, one, parts in together])
        return
    for number, (_, one, parts) in enumerate(together):
        title = "(empty)" if one is None else f"{one.label} ({one.probability:.4f})"
        print(f"{chr(10) * (number > 0)}{title}")
        if parts:
            _print_words(parts)


def _print_words(words: list[Contribution]) -> None:
    pairs = any(word.text == 2 for word in words)
    rows = [
        [
            *([str(word.text)] if pairs else []),
            word.word,
            None if word.contribution is None else f"{word.contribution:+.4f}",
        ]
        for word in words
    ]
    print_table([*(["text"] if pairs else []), "word", "nats for the label"], rows)
