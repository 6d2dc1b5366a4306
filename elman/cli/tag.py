"""`elman tag`: a tag for every word of a text."""

from typing import TYPE_CHECKING

from elman.cli.arguments import Json, Run, SideBySide
from elman.cli.input_text import GivenText, InputFile, read_given
from elman.cli.output import note, print_json

if TYPE_CHECKING:
    pass


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

    from elman.tasks.tagging.task import TrainedTagger
    from elman.tasks.task import load

    document = read_given(file, text)
    trained = load(run, TrainedTagger)
    answer = trained.ask(
        "tag", text=document.text, columns=columns, batch_size=batch_size, name=document.name
    )
    for message in answer.notes():
        note(message)
    if json:
        print_json(answer.to_data())
        return
    for line in answer.lines():
        print(line)
