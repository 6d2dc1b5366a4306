"""Tables of reading times: texts kept once, rows in their places, clear refusals."""

import math

import pytest

from elman.errors import InputError
from elman.text.reader import Document
from elman.text.reading_times import ReadingTable, read_reading_times


def read(text: str, name: str = "times.tsv", **columns: str) -> ReadingTable:
    return read_reading_times(Document(name, text), columns)


def test_positions_put_rows_in_order_and_find_gaps() -> None:
    # Sorted by word, as some corpora are published.
    table = read("word\tzone\titem\trt\nboys\t2\t1\t300\nThe\t1\t1\tNA\nwalk\t4\t1\t310\n")
    assert table.sentences == [["The", "boys", "walk"]]
    assert table.positions == [[1, 2, 4]]
    assert [(row.line, row.place) for row in table.rows] == [(2, 1), (3, 0), (4, 2)]
    assert math.isnan(table.rows[1].time)
    assert table.rows[2].time == 310
    assert "1 positions" in table.notes()[0]


def test_subjects_share_a_text() -> None:
    rows = [f"{s},{i},{w},{t}" for s in ("a", "b") for i, w, t in ((1, "x", 1), (1, '"y, z"', 2))]
    table = read("\n".join(["subject,item,word,time", *rows]), "times.csv")
    assert table.sentences == [["x", "y, z"]]
    assert [row.subject for row in table.rows] == ["a", "a", "b", "b"]
    assert [row.place for row in table.rows] == [0, 1, 0, 1]


def test_named_columns_and_frequencies() -> None:
    text = "w\tstory\tpar\tms\tcount\na\t1\t1\t5\t0\nb\t1\t2\t6\t9\n"
    names = {"word": "w", "time": "ms", "sentence": "story+par", "frequency": "count"}
    table = read(text, **names)
    assert table.identifiers == ["1 1", "1 2"]
    assert [row.log_frequency for row in table.rows] == pytest.approx([0, math.log(10)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word\trt\na\t1\n", "which column is the sentence"),
        ("word\titem\na\t1\n", "which column is the time"),
        ("word\titem\trt\n", "no rows"),
        ("word\titem\trt\na\t1\tfast\n", "line 2: the time 'fast' is not a number"),
        ("word\titem\trt\na\t1\tinf\n", "line 2: the time is infinite"),
        ("word\titem\trt\na\t1\t1\nb\t2\t1\nc\t1\t1\n", "line 4: sentence 1 begins a second time"),
        ("word\tzone\titem\trt\na\t1\t1\t1\nb\t1\t1\t1\n", "'b' and 'a' at position 1"),
        ("word\tzone\titem\trt\na\tx\t1\t1\n", "the position 'x' is not a number"),
        ("just a text\n", "no rows"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text)
