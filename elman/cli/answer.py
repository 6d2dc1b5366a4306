"""`elman answer`: the part of a passage that answers a question."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elman.cli.arguments import Json, Run
from elman.cli.input_text import InputFile, read_given
from elman.cli.output import print_json
from elman.errors import InputError
from elman.tasks.answering.reader import read_questions
from elman.tasks.answering.task import TrainedAnswerer
from elman.tasks.sentence_training import load_kind
from elman.text.reader import Document

# A hyphen may lead for the sake of "-", standard input.
_PASSAGE = Parameter(allow_leading_hyphen=True)
_COLUMNS = ("id", "answer", "start", "end", "probability")


def answer(
    run: Run,
    file: InputFile | None = None,
    /,
    *,
    question: str | None = None,
    passage: Annotated[str | None, _PASSAGE] = None,
    json: Json = False,
) -> None:
    """The part of a passage that answers a question; or of a file, the answers to all of them.

    One question gives its answer alone, a file a table with tabs: which question, its answer, from
    and before which character of the passage it stands, and how likely it is.

    For example:
      elman answer runs/facts --question "Where is Mary?" --passage "Mary went to the garden."
      cat article.txt | elman answer runs/facts --question "Who has the ball?" --passage -
      elman answer runs/facts questions.json --json

    Parameters
    ----------
    file
        Questions in SQuAD's form (JSON), with or without answers; - for standard input.
    question
        A question, with --passage instead of a file.
    passage
        The text that has the answer; - for standard input.
    """

    if file is not None and (question is not None or passage is not None):
        raise InputError("give either a file or --question and --passage, not both")
    if file is None and (question is None or passage is None):
        raise InputError("give --question and --passage, or a file of questions")
    trained: TrainedAnswerer = load_kind(Path(run), "answerer")
    if file is not None:
        _answer_file(trained, read_given(file, None), json)
        return
    assert question is not None
    assert passage is not None, "both were asked for"
    text = read_given("-", None).text.removesuffix("\n") if passage == "-" else passage
    found = trained.answer(question, text)
    if json:
        print_json({"question": question, **found.to_data()})
    else:
        print(_cell(found.text))


def _answer_file(trained: TrainedAnswerer, document: Document, json: bool) -> None:

    asked = read_questions(document, with_answers=False)
    pairs = [(question.question.text, question.passage.text) for question in asked]
    rows = [
        {"id": one.name, "question": one.question.text, **found.to_data()}
        for one, found in zip(asked, trained.answer_all(pairs), strict=True)
    ]
    if json:
        print_json(rows)
        return
    print("\t".join(_COLUMNS))
    for row in rows:
        print("\t".join(_cell(row[name]) for name in _COLUMNS))


def _cell(value: Any) -> str:
    """Without the tabs and line ends that an answer may have."""
    return f"{value:.4f}" if isinstance(value, float) else " ".join(str(value).split())
