"""Pairs from tables and JSON lines; every line keeps its position."""

import json

import numpy as np
import pytest

from elman.errors import InputError
from elman.tasks.translation.pairs import Pair, PairDocument, read_pairs
from elman.text.reader import Document
from elman.text.task_config import PairConfig

CONFIG = PairConfig(source="en", target="de")


def read(name: str, text: str, config: PairConfig = CONFIG) -> list[Pair]:
    return read_pairs(Document(name, text), config)


def test_two_columns() -> None:
    assert read("x.tsv", "a dog\tein Hund\nyes\tja\n") == [
        Pair("a dog", "ein Hund"),
        Pair("yes", "ja"),
    ]


def test_a_header_names_the_columns_in_any_order() -> None:
    text = "id\tde\ten\n1\tja\tyes\n2\tnein\tno\n"
    assert read("x.tsv", text) == [Pair("yes", "ja"), Pair("no", "nein")]


def test_json_lines_have_the_fields_that_are_named() -> None:
    entries = [{"en": "two\nlines", "de": "zwei\tZeilen", "id": 3}]
    text = "".join(f"{json.dumps(entry)}\n" for entry in entries)
    assert read("x.jsonl", text) == [Pair("two lines", "zwei Zeilen")]
    assert read("x.jsonl", f"\n{text}") == [Pair("", ""), Pair("two lines", "zwei Zeilen")]


def test_fields_inside_objects_have_names_with_dots() -> None:
    config = PairConfig(columns={"source": "translation.en", "target": "translation.de"})
    text = '{"id": 1, "translation": {"en": "yes", "de": "ja"}}\n'
    assert read("x.jsonl", text, config) == [Pair("yes", "ja")]


def test_a_first_line_that_may_be_a_header_is_noted() -> None:
    document = Document("x.tsv", "English\tsuomi\nyes\tkyllä\n")
    assert len(read_pairs(document, CONFIG)) == 2
    assert document.notes == [
        "x.tsv: the first line is read as a pair; if it is a header, add --columns "
        "source=English,target=suomi"
    ]
    document = Document("x.tsv", "a dog\tein Hund\nyes\tja\n")
    assert len(read_pairs(document, CONFIG)) == 2
    assert document.notes == []


def test_empty_sides_are_kept_in_their_place_and_counted() -> None:
    document = Document("x.tsv", "a dog\tein Hund\n\tnichts\n\nno\tnein\n")
    pairs = read_pairs(document, CONFIG)
    assert [pair.whole for pair in pairs] == [True, False, False, True]
    assert pairs[1:] == [Pair("", "nichts"), Pair("", ""), Pair("no", "nein")]
    assert document.notes == ["2 of 4 pairs have an empty side and are not trained on"]
    read_pairs(document, CONFIG)
    assert len(document.notes) == 1  # reading once more says it once


def test_other_line_ends_of_unicode_are_no_line_ends() -> None:
    assert read("x.tsv", "a\u2028b\tc\n") == [Pair("a\u2028b", "c")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "a\tb\nc\n", "x.tsv, line 2: has 1 columns instead of 2"),
        ("x.tsv", "en\tde\na\tb\tc\n", "x.tsv, line 2: has 3 columns instead of 2"),
        ("x.tsv", "a\tb\tc\n", "x.tsv, line 1: has 3 columns; .*--columns source="),
        ("x.txt", "a b\n", "x.txt, line 1: has 1 columns"),
        ("x.tsv", "a\t\n\tb\n", "x.tsv: no line has both a source and a target"),
        ("x.jsonl", '{"en": "a", "de": "b"}\n{"en"\n', "x.jsonl, line 2: is not JSON"),
        ("x.jsonl", "[1]\n", "x.jsonl, line 1: must be an object"),
        (
            "x.jsonl",
            '{"en": "a", "dee": "b"}',
            "no field 'de'; did you mean 'dee'.*--columns",
        ),
        ("x.jsonl", '{"en": 1, "de": "b"}', "field 'en' is not a text"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(name, text)


def test_the_hash_is_that_of_texts_and_vectors() -> None:
    grid = np.ones((2, 3), dtype=np.float32)
    one = PairDocument.of("x", [Pair(grid, "a")])
    assert one.sha256() == PairDocument.of("y", [Pair(grid.copy(), "a")]).sha256()
    assert one.sha256() != PairDocument.of("x", [Pair(grid * 2, "a")]).sha256()
    assert one.sha256() != PairDocument.of("x", [Pair(grid, "b")]).sha256()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"longest": 0}, "text.longest=0"),
        ({"measure": "blue"}, "unknown text.measure 'blue'; did you mean 'bleu'"),
        ({"source": "de", "target": "de"}, "text.source=de: is also the target"),
        ({"shared": True, "tokenizer": "bpe", "target_tokenizer": "words"}, "text.shared=true"),
        ({"vocabulary_size": 1}, "vocabulary_size=1"),
    ],
)
def test_wrong_settings(wrong: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PairConfig(**wrong)


def test_columns_may_be_named() -> None:
    named = PairConfig(columns={"source": "English", "target": "German"})
    for name, text in (
        ("x.tsv", "id\tGerman\tEnglish\n1\tein Hund\ta dog\n"),
        ("x.csv", 'id,German,English\n1,"ein Hund","a dog"\n'),
        ("x.jsonl", '{"German": "ein Hund", "English": "a dog"}\n'),
    ):
        assert read_pairs(Document(name, text), named) == [Pair("a dog", "ein Hund")]
    numbers = PairConfig(columns={"source": "3", "target": "2"})
    assert read_pairs(Document("x.tsv", "1\tein Hund\ta dog\n"), numbers) == [
        Pair("a dog", "ein Hund")
    ]
    with pytest.raises(InputError, match="has no column 'English'; its first row is a, b"):
        read_pairs(Document("x.tsv", "a\tb\n"), named)
