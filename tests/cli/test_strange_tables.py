"""Tables as spreadsheets and strangers write them: a right answer, or one clear line."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman

BOM = "\ufeff"


def added(call: Any, place: Path, name: str, text: str, *options: str) -> list[dict[str, Any]]:
    """The rows of a table with surprisals."""
    (place / name).write_text(text, newline="")
    result = call("surprisal", "words", name, "--no-entropy", "--json", *options)
    assert result.code == 0, result.err
    rows: list[dict[str, Any]] = json.loads(result.out)["rows"]
    return rows


@pytest.mark.parametrize(
    "text",
    [
        'item;sentence\n1;"the cat; ""the"" dog"\n2;the dog sees a cat .\n',
        f'{BOM}item;sentence\r\n1;"the cat; ""the"" dog"\r\n2;the dog sees a cat .\r\n',
        'item,sentence\n1,"the cat; ""the"" dog"\n2,the dog sees a cat .\n',
        'item,sentence\n1,"the\tcat; ""the""\ndog"\n2,the dog sees a cat .\n',
    ],
)
def test_quotes_semicolons_and_byte_order_marks(call: Any, place: Path, text: str) -> None:
    first, second = added(call, place, "strange.csv", text)
    assert first["item"] == "1"
    assert " ".join(first["sentence"].split()) == 'the cat; "the" dog'
    model = elman.load(place / "words", elman.TrainedModel)
    for row in (first, second):
        words = model.surprisal(" ".join(row["sentence"].split()), entropy=False)
        assert row["surprisal"] == pytest.approx(sum(word.surprisal for word in words), abs=1e-5)


def test_the_table_comes_back_with_its_quotes(says: Any, place: Path) -> None:
    (place / "quoted.csv").write_text('item;word\n1;"a ""b"""\n1;"c;d"\n2;the\n2;cat\n')
    shown = says("surprisal", "words", "quoted.csv", "--no-entropy")
    read = [*csv.reader(io.StringIO(shown), delimiter=";")]
    assert [row[1] for row in read] == ["word", 'a "b"', "c;d", "the", "cat"]


def test_empty_sentences_have_no_surprisal(call: Any, place: Path) -> None:
    rows = added(call, place, "empty.csv", "item,sentence\n1,the cat\n2,\n3,  \n4,the dog\n")
    assert [row["surprisal"] is None for row in rows] == [False, True, True, False]


@pytest.mark.parametrize(
    "sentence", ["🐶", "👩‍👩‍👧 the cat", "الكلب كان كبيرا", "the\u00a0cat", "cat"]
)
def test_any_script_and_a_single_word(call: Any, place: Path, sentence: str) -> None:
    (row,) = added(call, place, "script.csv", f"item,sentence\n1,{sentence}\n")
    assert row["surprisal"] > 0


def test_a_line_of_five_thousand_words(call: Any, place: Path) -> None:
    sentence = "the cat sees a dog " * 1000
    (row,) = added(call, place, "long.csv", f"item,sentence\n1,{sentence}\n")
    assert row["tokens"] == 5000
    (place / "long.txt").write_text(sentence + "\n")
    result = call("surprisal", "words", "long.txt", "--no-entropy", "--json")
    bits = [word["surprisal"] for word in json.loads(result.out)["words"][:-1]]
    assert sum(bits) == pytest.approx(row["surprisal"], rel=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,wrod\n1,the\n", "no column is called sentence, text or word"),
        ("item,word\n1,the\n2,a\n1,cat\n2,dog\n1,sees\n", "nearly every row begins a new"),
        ('item,sentence\n1,"the cat\n', "a quoted cell is not closed"),
        ("item,sentence\n", "has a header but no rows"),
        ("item,sentence\n1\n", "has 1 columns instead of 2"),
    ],
)
def test_one_clear_line(call: Any, place: Path, text: str, message: str) -> None:
    (place / "wrong.csv").write_text(text)
    result = call("surprisal", "words", "wrong.csv")
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_sentences_of_one_word_are_no_disorder(call: Any, place: Path) -> None:
    rows = added(call, place, "single.csv", "item,word\n1,the\n2,cat\n3,dog\n")
    assert len(rows) == 3


def times(decimal: str = ".", separator: str = ",") -> str:
    """A table of 30 sentences; some times are missing."""
    random = np.random.default_rng(1)
    lines = [separator.join(["item", "word", "rt"])]
    for number in range(240):
        word = random.choice(["the", "cat", "dog", "sees", "likes", "a"])
        time = f"{300 + random.normal(0, 20):.2f}".replace(".", decimal)
        missing = {3: "", 5: "NA", 7: "NaN"}.get(number % 11, time)
        lines.append(separator.join([str(number // 8), word, missing]))
    return "\n".join(lines) + "\n"


def test_times_with_decimal_commas_and_missing_values(call: Any, place: Path) -> None:
    found = []
    for text in (times(), BOM + times(",", ";").replace("\n", "\r\n")):
        (place / "rt.csv").write_text(text, newline="")
        result = call(
            "reading-times", "rt.csv", "--run", "words", "--predictors", "surprisal", "--json",
            "--draws", "50",
        )  # fmt: skip
        assert result.code == 0, result.err
        found.append(json.loads(result.out))
    plain, spreadsheet = found
    assert plain["results"] == spreadsheet["results"]
    assert plain["left_out"]["without a time"] == sum(n % 11 in (3, 5, 7) for n in range(240))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rt", "speed"), "which column is the time? Name it: --columns time=NAME"),
        (("item,word", "item,wort"), "which column is the word?"),
        (("\n1,", "\n0,the,300\n1,"), "begins a second time"),
        (("300", "3oo"), "is not a number; write NA for none"),
    ],
)
def test_clear_lines_for_times(
    call: Any, place: Path, change: tuple[str, str], message: str
) -> None:
    (place / "rt.csv").write_text(times().replace("\n0,", "\n0,the,300\n0,", 1).replace(*change))
    result = call("reading-times", "rt.csv", "--run", "words")
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_frames_with_missing_values(place: Path) -> None:
    pandas = pytest.importorskip("pandas")
    model = elman.load(place / "words", elman.TrainedModel)
    frame = pandas.DataFrame({"sentence": ["the cat", None, "", float("nan"), "the dog"]})
    found = model.surprisal_table(frame, entropy=False)
    assert found.surprisal.isna().tolist() == [False, True, True, True, False]
    words = pandas.DataFrame({"item": [1, 1, 1, 2], "word": ["the", np.nan, "cat", "the"]})
    found = model.surprisal_table(words, by=["item"], column="word", entropy=False)
    assert found.surprisal.isna().tolist() == [False, True, False, False]
    assert found.surprisal[2] == pytest.approx(model.surprisal("the cat")[1].surprisal)
    assert len(model.surprisal_table(["", "cat"], entropy=False)) == 1
    assert len(model.surprisal_table([], entropy=False)) == 0
    with pytest.raises(elman.InputError, match="no column 'w'"):
        model.surprisal_table(words, column="w", by=["item"])
