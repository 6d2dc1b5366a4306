"""`elman tag`: a tag for every word of a text."""

from typing import TYPE_CHECKING

from elman.cli.arguments import Json, Run, WholeNumber
from elman.cli.given import InputFile, read_given
from elman.cli.output import print_json
from elman.errors import InputError

if TYPE_CHECKING:
    from elman.tasks.tagging import TrainedTagger
    from elman.text.reader import Document


def tag(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: str | None = None,
    columns: bool = False,
    batch_size: WholeNumber = 32,
    json: Json = False,
) -> None:
    """A tag for every word of a text, one word per line, a blank line after every sentence.

    For example:
      elman tag runs/ner --text "John lives in New York"
      elman tag runs/ner sentences.txt > tagged.tsv
      elman tag runs/pos --columns treebank.conllu > tagged.conllu
      cat sentences.txt | elman tag runs/ner - --json

    Parameters
    ----------
    file
        Sentences, one per line, words between spaces; - for standard input.
    text
        The text itself, instead of a file.
    columns
        The file is in columns (CoNLL, CoNLL-U), one word per line: its other columns stay.
    batch_size
        Sentences side by side. Never changes the result.
    """
    from pathlib import Path

    from elman.tasks.sentence_training import load_kind

    if batch_size < 1:
        raise InputError(f"--batch-size {batch_size}: must be at least 1")
    document = read_given(file, text)
    trained: TrainedTagger = load_kind(Path(run), "tagger")
    if columns:
        _tag_columns(trained, document, batch_size, json)
    else:
        _tag_lines(trained, document, batch_size, json)


def _tag_lines(trained: "TrainedTagger", document: "Document", batch_size: int, json: bool) -> None:
    from elman.tasks.tagging import tagged_sentences
    from elman.text.tagged import read_untagged

    sentences = read_untagged(document)
    if json:
        print_json(tagged_sentences(trained, sentences, batch_size=batch_size))
        return
    tagged = trained.tag(sentences, batch_size=batch_size)
    for words, tags in zip(sentences, tagged, strict=True):
        for word, found in zip(words, tags, strict=True):
            print(f"{word}\t{found}")
        print()


def _tag_columns(
    trained: "TrainedTagger", document: "Document", batch_size: int, json: bool
) -> None:
    from elman.tasks.tagging import tagged_sentences
    from elman.text.columns import ColumnFile

    columns = ColumnFile(document, trained.config.text.column)
    if json:
        print_json(tagged_sentences(trained, columns.sentences, batch_size=batch_size))
        return
    tagged = trained.tag(columns.sentences, batch_size=batch_size)
    for line in columns.with_tags(tagged):
        print(line)
