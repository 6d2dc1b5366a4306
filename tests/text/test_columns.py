"""A file in columns gets new tags, and nothing else in it changes."""

import pytest

from elman.errors import InputError
from elman.tasks.tagging.questions import ColumnFile, looks_like_columns
from elman.text.reader import Document

CONLLU = """# text = I didn't

1\tI\tI\tX\tPRP\t_\t2\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdid\tdo\tX\tVBD\t_\t0\troot\t_\t_
3\tn't\tnot\tX\tRB\t_\t2\tadvmod\t_\t_


# text = No
1\tNo\tno\t_\tUH\t_\t0\troot\t_\t_
"""


def test_conllu_gets_its_tags_in_their_column() -> None:
    columns = ColumnFile(Document("x", CONLLU))
    assert columns.sentences == [["I", "did", "n't"], ["No"]]
    lines = columns.with_tags([["A", "B", "C"], ["D"]])
    old = CONLLU.removesuffix("\n").split("\n")
    assert len(lines) == len(old)
    pairs = [*zip(lines, old, strict=True)]
    changed = {n: new.split("\t")[3] for n, (new, o) in enumerate(pairs) if new != o}
    assert changed == {2: "A", 4: "B", 5: "C", 9: "D"}
    expected = CONLLU.replace("\tX\tPRP", "\tA\tPRP").replace("\tX\tVBD", "\tB\tVBD")
    expected = expected.replace("\tX\tRB", "\tC\tRB").replace("\t_\tUH", "\tD\tUH")
    assert "\n".join(lines) + "\n" == expected


def test_the_column_may_be_another() -> None:
    lines = ColumnFile(Document("x", CONLLU), "xpos").with_tags([["A", "B", "C"], ["D"]])
    assert lines[2].split("\t")[3:5] == ["X", "A"]


def test_in_other_columns_the_tag_comes_last() -> None:
    columns = ColumnFile(Document("x", "Ann NNP B-X\nsees VBZ O\n\n\nBob NNP O\n"), "4")
    assert columns.with_tags([["P", "Q"], ["R"]]) == [
        "Ann NNP B-X P",
        "sees VBZ O Q",
        "",
        "",
        "Bob NNP O R",
    ]


def test_words_alone_are_columns_too() -> None:
    columns = ColumnFile(Document("x", "Ann\nsees\n\nBob"))
    assert columns.sentences == [["Ann", "sees"], ["Bob"]]
    assert columns.with_tags([["P", "Q"], ["R"]]) == ["Ann P", "sees Q", "", "Bob R"]
    tabs = ColumnFile(Document("x", "New York\tx\nis\tx\n"))
    assert tabs.with_tags([["P", "Q"]]) == ["New York\tx\tP", "is\tx\tQ"]


def test_features_are_read_beside_the_words() -> None:
    columns = ColumnFile(Document("x", CONLLU), "", ["xpos"])
    assert columns.given == [[("I", "PRP"), ("did", "VBD"), ("n't", "RB")], [("No", "UH")]]
    assert columns.sentences == [["I", "did", "n't"], ["No"]]
    assert ColumnFile(Document("x", "Ann\nsees\n")).given == [["Ann", "sees"]]


def test_columns_that_are_not_there() -> None:
    with pytest.raises(InputError, match="text.features=2: x has no such column; its only column"):
        ColumnFile(Document("x", "Ann\nsees\n"), "", ["2"])
    with pytest.raises(InputError, match="x, line 2: has 1 column where the file began with 2"):
        ColumnFile(Document("x", "Ann NNP\nsees\n"))


def test_columns_are_told_from_sentences() -> None:
    assert looks_like_columns(Document("x", "Ann NNP O\nsees VBZ O\n\nBob NNP O\n"))
    assert looks_like_columns(Document("x", CONLLU))
    assert not looks_like_columns(Document("x", "Ann sees Bob\nBob is old\n"))
    assert not looks_like_columns(Document("x", "Ann sees Bob\n\nBob is old\n"))
    assert not looks_like_columns(Document("x", "Ann sees Bob .\nHe is old\n\nShe too\n"))
