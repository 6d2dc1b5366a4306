"""Tables with different quotes and separators."""

import pytest

from elman.errors import InputError
from elman.text.reader import Document
from elman.text.tables import (
    TextTable,
    check_columns,
    columns_setting,
    parse_columns,
    read_table,
    table_separator,
)


def read(name: str, text: str) -> TextTable:
    document = Document(name, text)
    separator = table_separator(document)
    assert separator is not None
    return read_table(document, separator)


def test_quoted_cells_keep_commas_quotes_and_line_ends() -> None:
    table = read("a.csv", 'text,label\n"one, ""two""\nthree",pos\nfour,neg\n')
    assert table.rows == [
        (1, ["text", "label"]),
        (3, ['one, "two"\nthree', "pos"]),
        (4, ["four", "neg"]),
    ]


def test_fields_of_objects_inside_json_lines_are_columns() -> None:
    table = read("a.jsonl", '{"message": {"body": "one", "n": 1}, "tags": ["x"]}\n{"message": 7}\n')
    assert table.names == ["message.body", "message.n", "tags", "message"]
    assert table.rows == [(1, ["one", 1, ["x"], None]), (2, [None, None, None, 7])]


@pytest.mark.parametrize(
    ("name", "text", "separator"),
    [
        ("a.csv", "item;word;RT\n" + "1;cat;382,7\n" * 20, ";"),  # decimal commas
        ("a.csv", "1;cat;382,7\n" * 20, ";"),
        ("a.csv", "text;label\none, two;pos\nthree, four;neg\n", ";"),
        ("a.csv", "text\tlabel\none, two\tpos\n", "\t"),
        ("a.csv", "text,label\none,pos\n", ","),
        ("a.tsv", "text\tlabel\n", "\t"),
        ("a.txt", "one\tpos\n", "\t"),
        ("a.txt", "one,pos\n" * 6, ","),
        ("a.txt", '{"text": "one"}\n', "{"),
        ("a.txt", "pos one , two\n", None),
        ("a.txt", "(3 (2 one) (4 two))\n", None),
    ],
)
def test_separators(name: str, text: str, separator: str | None) -> None:
    assert table_separator(Document(name, text)) == separator


def test_in_tab_separated_files_quotes_are_text() -> None:
    assert read("a.tsv", 'he said "yes\tpos\n').rows == [(1, ['he said "yes', "pos"])]


def test_rows_must_have_as_many_cells() -> None:
    with pytest.raises(InputError, match="a.csv, line 3: has 3 columns instead of 2"):
        read("a.csv", "a,b\nc,d\ne,f,g\n")
    with pytest.raises(InputError, match="a.csv, line 2: a quoted cell is not closed"):
        read("a.csv", 'a,b\nc,"d\n')


def test_names_are_read() -> None:
    assert parse_columns("text=utterance, label=intent") == {"text": "utterance", "label": "intent"}
    assert parse_columns("text=2,label=1") == {"text": "2", "label": "1"}
    assert columns_setting('text=a "b"') == 'text.columns={"text" = "a \\"b\\""}'


@pytest.mark.parametrize("written", ["", "utterance", "text=", "=a", "text=a,,label=b"])
def test_what_is_not_written_so_is_refused(written: str) -> None:
    with pytest.raises(InputError, match="like text=utterance,label=intent"):
        parse_columns(written)


def test_a_column_has_one_role() -> None:
    with pytest.raises(InputError, match="text is given twice"):
        parse_columns("text=a,text=b")
    with pytest.raises(InputError, match="need a column each"):
        check_columns({"text": "a", "label": "a"}, ("text", "label"))
    with pytest.raises(InputError, match="unknown role 'txt' for such a table; did you mean"):
        check_columns({"txt": "a"}, ("text", "label"))
