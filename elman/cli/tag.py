"""`elman tag`: a tag for every word of a text."""

from pathlib import Path

from elman.cli.arguments import Json, Run, SideBySide
from elman.cli.input_text import GivenText, InputFile, read_given
from elman.cli.output import note, print_json
from elman.errors import InputError
from elman.tasks.sentence_training import load_kind
from elman.tasks.tagging.columns import ColumnFile, looks_like_columns
from elman.tasks.tagging.task import TrainedTagger, tagged_sentences
from elman.text.reader import Document


def tag(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    text: GivenText = None,
    columns: bool = False,
    batch_size: SideBySide = 32,
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
        Sentences, one per line; - for standard input. Punctuation and clitics are split off as in
        the training data.
    columns
        The file is in columns (CoNLL, CoNLL-U), one word per line: its other columns stay.
    """

    document = read_given(file, text)
    trained: TrainedTagger = load_kind(Path(run), "tagger")
    if columns:
        _tag_columns(trained, document, batch_size, json)
    else:
        _tag_lines(trained, document, batch_size, json)


def _tag_lines(trained: TrainedTagger, document: Document, batch_size: int, json: bool) -> None:

    if features := trained.config.text.features:
        raise InputError(
            f"{trained.name}: was trained with a column beside the words (text.features="
            f"{','.join(features)}); give a file in columns, with --columns"
        )
    if looks_like_columns(document):
        note(f"{document.name}: looks like a file in columns; tag it as one with --columns")
    sentences = trained.split_lines(document.text)
    tagged = trained.tag(sentences, batch_size=batch_size)
    if json:
        print_json(tagged_sentences(trained, sentences, tagged))
        return
    for words, tags in zip(sentences, tagged, strict=True):
        for word, found in zip(words, tags, strict=True):
            print(f"{word}\t{found}")
        print()


def _tag_columns(trained: TrainedTagger, document: Document, batch_size: int, json: bool) -> None:

    text = trained.config.text
    columns = ColumnFile(document, text.column, text.features)
    tagged = trained.tag(columns.given, batch_size=batch_size)
    if json:
        print_json(tagged_sentences(trained, columns.sentences, tagged))
        return
    for line in columns.with_tags(tagged):
        print(line)
