"""Tables, JSON and CoNLL are recognised, and running text of any kind is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.tasks.classification.reader import read_labelled
from elman.tasks.tagging.reader import read_tagged
from elman.text.file_shapes import csv_separator, looks_like, refuse_other_shapes
from elman.text.reader import Document, read_document

WORDS = "a dog sees the cat near an old house".split()
SENTENCE = " ".join(WORDS)
CONLLU_ROW = "{}\tdog\tdog\tNOUN\tNN\t_\t0\troot\t0:root\t_\n"
CONLLU = "# sent_id = 1\n# text = dog dog\n" + CONLLU_ROW.format(1) + CONLLU_ROW.format(2) + "\n"

SHAPES = {
    "JSON lines": (json.dumps({"text": SENTENCE, "label": "x"}) + "\n") * 3,
    "JSON": json.dumps({"data": [{"context": SENTENCE}]}, indent=1),
    "CoNLL-U": CONLLU * 3,
    "CoNLL columns": "".join(f"{word} NN B-NP\n" for word in WORDS[:4]) * 3
    + "\n"
    + "dog NN B-NP\nsees VB B-VP\n\n" * 3,
    "tab-separated columns (2": "".join(f"{SENTENCE} {n}\tpos\n" for n in range(9)),
    "a CSV table (2": "text,label\n" + "".join(f'"{SENTENCE}, {n}",pos\n' for n in range(9)),
    "a CSV table (3": "".join(f"{n};{SENTENCE}, and more;{n % 2}\n" for n in range(9)),
}

TEXTS = {
    "indented": "\tIt was a night.\n\tIt was cold, dark, and wet.\n" * 9,
    "verse": "\tRoses are red,\nViolets are blue,\n\n\t\tSugar is sweet,\nAnd so are you.\n" * 9,
    "a comma in each line": "Roses are red, violets are blue\n" * 20,
    "tabs now and then": "one\ttwo\nno tab here\nanother line\nand\tmore\ttabs\nlast\n" * 5,
    "braces": "{ this is not JSON }\n{ nor this }\n(and this is no tree)\n" * 9,
    "code": "int main() {\n\tint a = 1, b = 2;\n\treturn a+b;\n}\n" * 9,
    "calls": "foo(a,b);\nbar(a,b,c);\nbaz();\n" * 9,
    "Markdown": "| a | b |\n|---|---|\n| one, two | three |\n" * 9,
    "Chinese": "今天天气很好，我们去公园。\n他说：“好的,没问题”。\n" * 9,
    "two words per line": "old house\nred dog\n\nblack cat\nold house\n\nred dog\n\n" * 9,
    "lists": "apples,\npears,\nplums,\nnuts,\n" * 9,
    "formulas": "3 + 4 = 7\n2 + 2 = 4\n\n1 + 1 = 2\n\n" * 9,
    "dialogue": '"Yes," he said, "I know."\n"No," she said.\n"Then," he said, "go."\n' * 9,
    "one line": SENTENCE,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_not_running_text_is_recognised(shape: str) -> None:
    found = looks_like(Document("file.txt", SHAPES[shape]))
    assert found is not None
    assert found.startswith(shape)
    with pytest.raises(InputError, match=r"file.txt: looks like .*, not running text; .*plain"):
        refuse_other_shapes(Document("file.txt", SHAPES[shape]))


def test_tabs_that_became_spaces_do_not_hide_a_treebank() -> None:
    assert looks_like(Document("file.txt", (CONLLU * 3).replace("\t", "  "))) == "CoNLL-U"
    with pytest.raises(InputError, match="grep '.*' 'my trees/a.conllu' "):
        refuse_other_shapes(Document("my trees/a.conllu", CONLLU * 3))


@pytest.mark.parametrize("kind", TEXTS)
def test_text_stays_text(kind: str) -> None:
    assert looks_like(Document("file.txt", TEXTS[kind])) is None


def test_a_name_lowers_the_bar_but_is_not_enough() -> None:
    assert looks_like(Document("file.csv", "text,label\ngood film,pos\n")) is not None
    assert looks_like(Document("file.txt", "one,two\nthree,four\n")) is None
    assert looks_like(Document("file.csv", SENTENCE)) is None


def test_a_space_after_every_comma_is_read_where_the_name_says_csv() -> None:
    spaced = "text, label\n" + "".join(f'"{SENTENCE}, {n}", pos\n' for n in range(9))
    assert csv_separator(spaced) is None
    assert looks_like(Document("file.txt", spaced)) is None
    assert looks_like(Document("file.csv", spaced)) == "a CSV table (2 columns between ',')"
    read = read_labelled(Document("file.csv", spaced))
    assert (read[0].texts, read[0].label) == ((f"{SENTENCE}, 0",), "pos")


def test_comments_before_sentences_in_columns() -> None:
    block = "# id {}\nDogs\tNNS\nbark\tVBP\n#\t:\n\t\n"
    document = Document("file.conll", "".join(map(block.format, range(9))))
    assert looks_like(document) == "CoNLL columns, one word and its tags per line"
    assert [one.words for one in read_tagged(document)] == [("Dogs", "bark", "#")] * 9


def test_separators_inside_quotes_are_text() -> None:
    assert csv_separator('"a;b";1\n' * 6) == ";"
    assert csv_separator('"a,b\nc",1\n' * 6) == ","


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("ptb/ptb.train.txt", None),
        ("wikitext-2/wiki.train.tokens", None),
        ("tinyshakespeare/input.txt", None),
        ("names/names/Chinese.txt", None),
        ("sst/stsa.binary.train", None),
        ("sst/trees/train.txt", None),
        ("multi30k/raw/train.de.gz", None),
        ("conll2000/train.txt", "CoNLL columns"),
        ("wnut17/wnut17train.conll", "CoNLL columns"),
        ("ud-english-ewt/en_ewt-ud-dev.conllu", "CoNLL-U"),
        ("natural-stories/words.tsv", "tab-separated"),
        ("blimp/models_summary.jsonl", "JSON lines"),
    ],
)
def test_published_files(corpus: Callable[[str], Path], name: str, shape: str | None) -> None:
    folder, _, file = name.partition("/")
    found = looks_like(read_document(corpus(folder) / file))
    assert found is None if shape is None else found is not None and found.startswith(shape)
