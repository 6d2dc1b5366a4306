"""Tables of stimuli: which rows make a sentence, and what is refused."""

import pytest

from elman.errors import InputError
from elman.text.reader import Document
from elman.text.stimuli import Stimuli, read_stimuli


def read(text: str, **options: object) -> Stimuli:
    return read_stimuli(Document("s.tsv", text), **options)  # type: ignore[arg-type]


TEXT = "a dog that the old man saw ran to the house where no one had lived for many a long year"


def _table(words: list[str], alternating: bool = False) -> str:
    rows = [f"{number % 2 if alternating else 1}\t{word}" for number, word in enumerate(words)]
    return "\n".join(["item\tword", *rows, ""])


def test_a_text_in_its_order_is_taken() -> None:
    assert read(_table(TEXT.split())).sentences == [[*range(21)]]


def test_a_sentence_per_row() -> None:
    stimuli = read("item\tSentence\n1\tthe cat\n2\tNA\n3\t\n")
    assert stimuli.cells == ["the cat", "NA", ""]  # NA, None and nan are words
    assert stimuli.sentences == [[0], [1], [2]]
    assert not stimuli.per_word


def test_a_word_per_row() -> None:
    table = "item\tcondition\tword\n1\ta\tthe\n1\ta\tcat\n1\tb\tthe\n2\tb\ta\n2\tb\tdog\n"
    assert read(table).sentences == [[0, 1], [2], [3, 4]]
    assert read(table, by=["condition"]).sentences == [[0, 1], [2, 3, 4]]
    assert read(table.replace("word", "form"), column="form", by=["item"]).per_word


def test_new_columns_must_have_new_names() -> None:
    stimuli = read("item\ttext\n1\tthe cat\n2\ta dog")
    stimuli.refuse_names(["x", "y"])
    with pytest.raises(InputError, match="already has a column 'item'"):
        stimuli.refuse_names(["item"])


def test_tables_with_commas_and_quotes() -> None:
    text = 'item,sentence\n1,"the cat, a dog"\n2,"he said ""no"""\n'
    stimuli = read_stimuli(Document("s.csv", text))
    assert stimuli.cells == ["the cat, a dog", 'he said "no"']
    assert (stimuli.names, stimuli.separator) == (["item", "sentence"], ",")


def test_json_lines() -> None:
    stimuli = read_stimuli(Document("s.jsonl", '{"item": 1, "text": "a cat"}\n{"item": 2}\n'))
    assert stimuli.cells == ["a cat", ""]
    assert stimuli.rows == [[1, "a cat"], [2, None]]


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("item\ttext\n", {}, "no rows"),
        ("item\ttext\n1\ta\t3\n", {}, "line 2: has 3 columns instead of 2"),
        ("item\tform\n1\ta\n", {}, "--column (there are item, form)"),
        ("item\ttext\n1\ta\n", {"column": "txt"}, "did you mean 'text'"),
        ("x\tword\n1\ta\n", {}, "--by x"),
        ("item\tword\n1\ta\n", {"by": ["itm"]}, "did you mean 'item'"),
        ("item\ttext\n1\t\n", {}, "holds no text"),
        (_table(sorted(TEXT.split())), {}, "is sorted by word"),
        (_table(TEXT.split(), alternating=True), {}, "nearly every row begins a new sentence"),
    ],
)
def test_refused(text: str, options: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text, **options)
    assert reason in str(refused.value)
