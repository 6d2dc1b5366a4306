"""Labelled texts in every file format, and refusals."""

import pytest

from elman.errors import InputError
from elman.tasks.classification.reader import Example, read_labelled, read_unlabelled
from elman.text.reader import Document

GOOD, BAD = Example(("good film",), "pos"), Example(("bad , dull",), "neg")
PAIRS = [Example(("a cat", "an animal"), "yes")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "good film\tpos\nbad , dull\tneg\n"),
        ("a.tsv", "label\ttext\npos\tgood film\nneg\tbad , dull\n"),
        ("a.csv", 'text,label\ngood film,pos\n"bad , dull",neg\n'),
        (
            "a.jsonl",
            '{"text": "good film", "label": "pos"}\n\n{"review": "bad , dull", "class": "neg"}\n',
        ),
        ("a.txt", "pos good film\nneg bad , dull\n"),
    ],
)
def test_the_forms_of_files(name: str, text: str) -> None:
    assert read_labelled(Document(name, text)) == [GOOD, BAD]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "a cat\tan animal\tyes\n"),
        ("a.tsv", "label\tpremise\thypothesis\nyes\ta cat\tan animal\n"),
        ("a.jsonl", '{"question": "a cat", "passage": "an animal", "label": "yes"}\n'),
    ],
)
def test_pairs(name: str, text: str) -> None:
    assert read_labelled(Document(name, text)) == PAIRS


def test_of_trees_whole_sentences_with_their_phrases() -> None:
    document = Document("a.txt", "(3 (2 The) (4 (3 Rock) (2 .)))\n")
    assert read_labelled(document) == [Example(("The Rock .",), "3")]
    (example,) = read_labelled(document, phrases=True)
    assert (example.texts, example.label) == (("The Rock .",), "3")
    found = [(phrase.texts[0], phrase.label) for phrase in example.phrases]
    assert found == [("The", "2"), ("Rock", "3"), (".", "2"), ("Rock .", "4")]


def test_a_missing_label_is_named_by_the_column_of_the_user() -> None:
    lines = '{"body": "good", "mark": "pos"}\n{"body": "bad", "mark": null}\n'
    columns = {"text": "body", "label": "mark"}
    with pytest.raises(
        InputError, match=r"line 2: has no label \(in 'mark'\); write one, or leave"
    ):
        read_labelled(Document("a.jsonl", lines), columns=columns)


def test_unlabelled_texts_are_lines_and_pairs_have_a_tab() -> None:
    examples = read_unlabelled(Document("-", "one text\nfirst\tsecond\n"))
    assert [example.texts for example in examples] == [("one text",), ("first", "second")]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.tsv", "good\tpos\nbad\tneg\tmore\n", "line 2: has 3 columns instead of 2"),
        ("a.tsv", "a\tb\tc\td\n", "has 4 columns and no header"),
        ("a.tsv", "good\tpos\n \tneg\n", "line 2: the text is empty"),
        ("a.tsv", "good\tpos\nbad\t \n", "line 2: the label is empty"),
        ("a.jsonl", '{"text": "", "label": "pos"}\n', "line 1: the text is empty"),
        ("a.jsonl", '{"text": "good"}\n', "line 1: has no label; name it label"),
        ("a.jsonl", '{"label": "pos"}\n', "line 1: has no text; name it text"),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "b"}\n',
            r"no label \(in 'label'\); write",
        ),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"label": 2}\n', r"no text \(in 'text'\); write"),
        ("a.jsonl", '{"text": \n', "line 1: is not JSON"),
        ("a.jsonl", "{}\n[1]\n", "line 2: must be an object"),
        ("a.txt", "pos good\nneg\n", "line 2: has a label but no text"),
        ("a.txt", "(3 (2 The) (4 Rock)\n", r"line 1: a \) is missing"),
        ("a.txt", "(3 (2 The)))\n", r"line 1: one \) too many in the tree"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(name: str, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        read_labelled(Document(name, text))
    assert "\n" not in str(refused.value)
