"""Finding the columns of text and label: by name, in any order, or by content."""

from __future__ import annotations

import json

import pytest

from elman.errors import InputError
from elman.tasks.classification.reader import (
    columns_of,
    has_columns,
    read_labelled,
    read_unlabelled,
)
from elman.text.reader import Document

ROWS = [(f"a {'warm' if n % 2 else 'dull'} film {n}", "good" if n % 2 else "bad") for n in range(9)]
TEXTS = [text for text, _ in ROWS]


def written(order: str, separator: str = "\t", header: str = "") -> str:
    cells = [{"t": text, "l": label, "i": str(n)} for n, (text, label) in enumerate(ROWS)]
    lines = [header] if header else []
    return "\n".join([*lines, *(separator.join(row[c] for c in order) for row in cells)]) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "understood"),
    [
        ("a.tsv", written("lt"), "2 columns without a header, text = column 2, label = column 1"),
        ("a.tsv", written("tl"), "2 columns without a header, text = column 1, label = column 2"),
        ("a.txt", written("lt"), "2 columns without a header, text = column 2, label = column 1"),
        ("a.csv", written("lt", ",", "intent,utterance"), "text = utterance, label = intent"),
        ("a.csv", written("tl", ";", "Frage;Absicht"), "text = Frage, label = Absicht"),
        ("a.csv", written("lt", ",", "类别,内容"), "text = 内容, label = 类别"),
        ("a.tsv", written("itl"), "3 columns without a header, text = column 2, label = column 3"),
        ("a.csv", written("ilt", ",", "id,label,words"), "text = words, label = label"),
        ("a.csv", written("iltt", ",", "id,intent,x,y"), "text = x, label = intent"),
    ],
)
def test_columns_are_found(name: str, text: str, understood: str) -> None:
    document = Document(name, text)
    examples = read_labelled(document)
    assert [(example.texts[0], example.label) for example in examples] == ROWS
    (note,) = document.notes
    assert understood in note
    assert ", 2 labels" in note


def test_keys_of_json_lines_are_found() -> None:
    lines = [json.dumps({"Absicht": label, "Frage": text}) for text, label in ROWS]
    document = Document("a.jsonl", "\n".join(lines))
    assert [(e.texts[0], e.label) for e in read_labelled(document)] == ROWS
    assert document.notes == ["a.jsonl: 2 columns, text = Frage, label = Absicht, 2 labels"]


def test_columns_may_be_named() -> None:
    document = Document("a.csv", written("itlt", ",", "id,x,y,z"))
    for text, label in (("x", "y"), ("2", "3"), ("X", "Y")):
        examples = read_labelled(document, columns={"text": text, "label": label})
        assert [(example.texts[0], example.label) for example in examples] == ROWS
    pairs = read_labelled(document, columns={"text": "x", "text2": "z", "label": "y"})
    assert pairs[0].texts == (TEXTS[0], TEXTS[0])


def test_the_only_other_column_need_not_be_named() -> None:
    document = Document("a.tsv", written("lt", "\t", "y\tx"))
    examples = read_labelled(document, columns={"text": "x"})
    assert [(example.texts[0], example.label) for example in examples] == ROWS


@pytest.mark.parametrize(
    ("text", "columns", "problem"),
    [
        (written("itlt", "\t", "id\tx\ty\tz"), {}, r"no header .*\(first row: id, x, y, z\)"),
        (written("itlt"), {}, "4 columns and no header"),
        (written("tl", "\t", "x\ty"), {"text": "z"}, "no column 'z'; it has x, y; name"),
        (written("tl"), {"text": "3"}, "no column '3'; it has 1 to 2"),
        (written("itlt", "\t", "id\tx\ty\tz"), {"text": "x"}, "contains the label"),
        ("only text\n", {"text": "x"}, "is not a table"),
    ],
)
def test_what_is_unclear_is_refused(text: str, columns: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_labelled(Document("a.txt", text), columns=columns)


def test_a_first_row_that_is_an_example_is_no_header() -> None:
    document = Document(
        "a.tsv", "Ivanov\tRussian\nSmith\tEnglish\nBrown\tEnglish\nPetrov\tRussian\n" * 3
    )
    assert len(read_labelled(document)) == 12


def test_other_tables_are_read_alike() -> None:
    found = columns_of(Document("a.tsv", written("lt")), {})
    assert found == {"text": "2", "label": "1"}
    assert has_columns(Document("b.tsv", "good\ta film\n"), found)
    assert not has_columns(Document("b.tsv", "text\tlabel\na film\tgood\n"), found)
    assert not has_columns(Document("b.txt", "good a film\n"), found)


def test_texts_to_be_labelled_may_come_from_a_table() -> None:
    table = Document("a.csv", written("tl", ",", "utterance,intent"))
    assert [example.texts[0] for example in read_unlabelled(table)] == TEXTS
    named = read_unlabelled(Document("a.tsv", written("lt", "\t", "y\tx")), {"text": "x"})
    assert [example.texts[0] for example in named] == TEXTS
    alone = read_unlabelled(Document("a.csv", "text\none, two\n".replace(", ", " ")))
    assert [example.texts for example in alone] == [("one two",)]


def test_a_column_named_id_may_repeat_its_numbers() -> None:
    rows = "".join(f"{n // 2};{text};{label}\n" for n, (text, label) in enumerate(ROWS))
    document = Document("a.csv", f"id;Satz;Klasse\n{rows}")
    assert {example.texts for example in read_labelled(document)} == {(text,) for text in TEXTS}
    assert "column id looks like row numbers" in document.notes[0]


def test_a_column_that_is_empty_in_every_row_is_not_read() -> None:
    rows = [f"{text}\t\t{label}\n" for text, label in ROWS]
    document = Document("a.tsv", "".join(rows))
    assert [(*example.texts, example.label) for example in read_labelled(document)] == ROWS
    assert document.notes[0].endswith(
        "label = column 3, 2 labels; column 2 is empty and is not read"
    )
    last = Document("a.tsv", "".join(f"{text}\t{label}\t\n" for text, label in ROWS))
    assert [(*example.texts, example.label) for example in read_labelled(last)] == ROWS


def test_a_first_row_that_may_be_a_header_is_reported() -> None:
    rows = "".join(f"a film {n} of {n} films,genre{n}\n" for n in range(9))
    document = Document("a.csv", f"plot,film genre\n{rows}")
    assert len(read_labelled(document)) == 10
    assert document.notes[0].endswith(
        "the first row (plot, film genre) is read as an example; if it is a header, name the "
        "columns: --columns 'text=plot,label=film genre'"
    )
    numbered = Document("a.csv", "no,word,tag\n" + "".join(f"{n // 2},w{n},O\n" for n in range(9)))
    assert "(no, word, tag) is read as an example" in " ".join(labelled_notes(numbered))


def labelled_notes(document: Document) -> list[str]:
    read_labelled(document)
    return document.notes


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("a, b", "most labels contain ',', such as 'a, b'; if they are several labels, train with"),
        ("a|b, c", "text.label_separator=|"),
        ("['a', 'b']", "most labels look like lists, such as ['a', 'b']"),
    ],
)
def test_labels_that_look_like_several_are_reported(label: str, hint: str) -> None:
    lines = [json.dumps({"text": text, "label": label}) for text in TEXTS]
    (_, note) = labelled_notes(Document("a.jsonl", "\n".join(lines)))
    assert hint in note
    some = [*lines[:3], *(json.dumps({"text": text, "label": "a"}) for text in TEXTS)]
    assert len(labelled_notes(Document("a.jsonl", "\n".join(some)))) == 1


def test_a_column_of_0_and_1_for_every_label() -> None:
    rows = [f"{text},{n % 2},0,1\n" for n, text in enumerate(TEXTS)]
    with pytest.raises(
        InputError, match=r"3 columns of 0 and 1 \(fun, art, sad\); .* like fun\|art"
    ):
        read_labelled(Document("a.csv", "text,fun,art,sad\n" + "".join(rows)))
