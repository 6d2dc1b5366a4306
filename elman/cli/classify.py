"""`elman classify`: the label of each text."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.cli.arguments import Json, Run, SideBySide
from elman.cli.given import GivenText, InputFile, read_given
from elman.cli.output import print_json, print_table
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.tasks.trained_classifier import Classified, Contribution, TrainedClassifier


def classify(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    all: bool = False,
    explain: bool = False,
    batch_size: SideBySide = 32,
    json: Json = False,
) -> None:
    """The likeliest label of each text, with its probability, in columns with tabs between them.

    For example:
      elman classify runs/films --text "a funny and stirring film"
      elman classify runs/films --text "a dull film" --explain
      elman classify runs/films reviews.txt --all > labels.tsv
      cat reviews.txt | elman classify runs/films - --json

    Parameters
    ----------
    file
        Texts, one per line, of pairs with a tab between the two; - for standard input.
    all
        The probability of every label, in a column each.
    explain
        What each word contributes: by how much it raises the log probability of the label, in
        nats, against the text without it.
    """
    from elman.tasks.sentence_training import load_kind
    from elman.text.labelled import read_unlabelled

    if all and explain:
        raise InputError("--all and --explain are two tables; give one of them")
    texts = [example.texts for example in read_unlabelled(read_given(file, text))]
    trained: TrainedClassifier = load_kind(Path(run), "classifier")
    found = trained.classify(texts, batch_size=batch_size)
    if explain:
        _explain(trained, texts, found, batch_size, json)
    elif json:
        print_json([_as_data(*pair) for pair in zip(texts, found, strict=True)])
    else:
        _print(trained, texts, found, all)


def _as_data(texts: tuple[str, ...], found: "Classified") -> dict[str, Any]:
    return {"text": texts[0] if len(texts) == 1 else texts, **vars(found)}


def _print(
    trained: "TrainedClassifier",
    texts: list[tuple[str, ...]],
    found: list["Classified"],
    every: bool,
) -> None:
    labels = trained.task.labels if every else []
    print("\t".join(["label", *(labels or ["probability"]), "text"]))
    for given, one in zip(texts, found, strict=True):
        shown = [one.probabilities[label] for label in labels] or [one.probability]
        print("\t".join([one.label, *(f"{value:.4f}" for value in shown), *given]))


def _explain(
    trained: "TrainedClassifier",
    texts: list[tuple[str, ...]],
    found: list["Classified"],
    batch_size: int,
    json: bool,
) -> None:
    words = [trained.explain(given, batch_size=batch_size) for given in texts]
    together = list(zip(texts, found, words, strict=True))
    if json:
        print_json([{**_as_data(given, one), "words": parts} for given, one, parts in together])
        return
    for number, (_, one, parts) in enumerate(together):
        print(f"{chr(10) * (number > 0)}{one.label} ({one.probability:.4f})")
        _print_words(parts)


def _print_words(words: list["Contribution"]) -> None:
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
