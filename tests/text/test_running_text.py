"""Running text from every format, in memory and streamed: the same text, nothing lost silently."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from elman.errors import InputError
from elman.text import streamed
from elman.text.running_text import open_running_text
from elman.text.split_names import SPLITS
from elman.text.tokenizer import TextConfig

LINES = [f"the cat number {n} sees a dog , “ {n % 7} ” and\tmore ." for n in range(300)]
TEXT = "".join(f"{line}\n" for line in LINES)
ROWS = [{"id": n, "body": line, "day": f"2026-01-{n % 28 + 1:02}"} for n, line in enumerate(LINES)]


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    name = path.name
    if ".json" in name:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    elif name.endswith(".csv"):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            writer.writerows(rows)
    elif name.endswith(".tsv"):
        cells = [
            [*rows[0]],
            *([str(one).replace("\t", " ") for one in row.values()] for row in rows),
        ]
        path.write_text("".join("\t".join(row) + "\n" for row in cells))
    else:
        pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
        table = pyarrow.Table.from_pylist(rows)
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            opener = pyarrow.ipc.new_file if name.endswith(".feather") else pyarrow.ipc.new_stream
            with pyarrow.OSFile(str(path), "wb") as sink, opener(sink, table.schema) as writer:
                writer.write_table(table)


FORMATS = ["x.jsonl", "x.json.gz", "x.csv", "x.tsv", "x.parquet", "x.arrow", "x.feather"]


@pytest.fixture(params=["in memory", "streamed"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "streamed":
        monkeypatch.setattr(streamed, "IN_MEMORY", 1000)
        monkeypatch.setattr("elman.text.reader._BLOCK", 700)
        monkeypatch.setattr("elman.text.sources._BLOCK", 700)
    return str(request.param)


def texts(data: object, **options: Any) -> dict[str, str]:
    corpus = open_running_text(str(data), **options)
    return {name: document.text for name, document in corpus.documents.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_a_column_is_the_text(name: str, size: str, tmp_path: Path) -> None:
    write_table(tmp_path / name, ROWS)
    (tmp_path / "plain.txt").write_text(TEXT.replace("\t", " ") if "tsv" in name else TEXT)
    found = texts(tmp_path / name, columns={"text": "body"})
    assert found == texts(tmp_path / "plain.txt", plain=True)
    assert [*found] == [*SPLITS]


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet", "x.arrow"])
def test_an_evident_column_needs_no_name(name: str, size: str, tmp_path: Path) -> None:
    write_table(tmp_path / name, [{"id": n, "text": line} for n, line in enumerate(LINES)])
    corpus = open_running_text(str(tmp_path / name))
    assert "".join(document.text for document in corpus.documents.values()) == TEXT
    assert any("the text is in the column 'text'" in note for note in corpus.notes)


def test_a_column_that_is_not_evident_is_asked_for(tmp_path: Path) -> None:
    write_table(tmp_path / "x.jsonl", ROWS)
    with pytest.raises(
        InputError, match=r"which column is the text\? It has body, day; .*--columns"
    ):
        open_running_text(str(tmp_path / "x.jsonl"))
    write_table(tmp_path / "x.csv", ROWS)
    with pytest.raises(InputError, match=r"looks like .*--columns text=NAME"):
        open_running_text(str(tmp_path / "x.csv"))
    with pytest.raises(InputError, match="has no column 'bodie'; it has id, body, day"):
        texts(tmp_path / "x.csv", columns={"text": "bodie"})


def test_fields_inside_objects_have_names_with_dots(tmp_path: Path) -> None:
    rows = [{"id": n, "message": {"body": line, "meta": {"n": n}}} for n, line in enumerate(LINES)]
    write_table(tmp_path / "x.jsonl", rows)
    for columns in ({"text": "message.body"}, {}):  # the only field with text
        corpus = open_running_text(str(tmp_path / "x.jsonl"), columns=columns)
        assert "".join(document.text for document in corpus.documents.values()) == TEXT


def test_a_folder_of_folders_is_not_called_empty(tmp_path: Path) -> None:
    for name in ("pos", "neg"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text(TEXT)
    with pytest.raises(InputError, match=r"has no files, only folders \(neg, pos\).*a table"):
        open_running_text(str(tmp_path))
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="is empty"):
        open_running_text(str(tmp_path / "none"))


def test_a_note_says_that_parallel_files_are_one_text(tmp_path: Path) -> None:
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("so do I\n" * 9)
    notes = " ".join(open_running_text(str(tmp_path)).notes)
    assert "train: 2 files with different endings (.de, .en) are read as one text" in notes
    for name in ("train.en", "train.de"):
        (tmp_path / name).rename(tmp_path / f"{name}.txt")
    assert "endings" not in " ".join(open_running_text(str(tmp_path)).notes)


def test_shards_are_one_text_in_the_order_of_their_names(size: str, tmp_path: Path) -> None:
    whole, shards = tmp_path / "whole", tmp_path / "shards"
    whole.mkdir(), shards.mkdir()
    (whole / "train.txt").write_text(TEXT + TEXT)
    (whole / "valid.txt").write_text("so do I\n" * 9)
    half = TEXT[: len(TEXT) // 2]
    for name, text in {"01": half, "02": TEXT[len(half) :], "03": TEXT.rstrip("\n")}.items():
        (shards / f"train-{name}.txt.gz").write_bytes(gzip.compress(text.encode()))
    (shards / "valid.txt").write_text("so do I\n" * 9)
    found = texts(shards, plain=True)
    # The first shard ends in the middle of a line, and the last without a line end.
    line = TEXT[len(half) :].index("\n")
    assert found["train"].replace("\n", "") == (TEXT + TEXT).replace("\n", "")
    assert found["train"].count("\n") == 2 * TEXT.count("\n") + (line > 0) - 1
    assert found["valid"] == texts(whole, plain=True)["valid"]
    assert texts(shards / "train-*", plain=True)["train"] == found["train"]


def test_a_rotated_log_is_one_text(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("c\n")
    (tmp_path / "app.log.1").write_text("b\n")
    (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "app.log-20261001").write_text("d\n")
    for data in (tmp_path, tmp_path / "app.log*"):
        corpus = open_running_text(str(data))
        assert corpus.whole is not None
        assert corpus.whole.text == "c\nd\nb\na\n"  # in the order of their names


def test_rows_read_are_rows_used_and_rows_reported(size: str, tmp_path: Path) -> None:
    good = [json.dumps(row) for row in ROWS]
    bad = ['{"body": ', "[1]", '{"id": 3}', '{"body": 7}', '{"body": " "}', '{"body": null}', ""]
    bad.append('{"body": "\\ud800"}')
    (tmp_path / "x.jsonl").write_text("\n".join([*good[:5], *bad, *good[5:]]) + "\n")
    corpus = open_running_text(str(tmp_path / "x.jsonl"), columns={"text": "body"})
    texts = {name: document.text for name, document in corpus.documents.items()}
    assert "".join(texts.values()) == TEXT
    notes = " ".join(corpus.all_notes())
    counts = re.search(r"300 of (\d+) lines are used; (.*?)(?= one file| x|$)", notes)
    assert counts is not None
    assert int(counts.group(1)) == len(good) + len(bad)
    assert sum(map(int, re.findall(r"(\d+) (?:are|have)", counts.group(2)))) == len(bad)
    assert "1 are not JSON (first: line 6)" in notes
    with pytest.raises(InputError, match=r"x\.jsonl, line 6: such lines are not JSON; correct it"):
        open_running_text(str(tmp_path / "x.jsonl"), columns={"text": "body"}, strict=True)


@pytest.mark.parametrize("way", ["hash", "random:1", "time"])
def test_splits_do_not_hang_on_the_order_of_shards(way: str, size: str, tmp_path: Path) -> None:
    for folder, order in {"one": (0, 1, 2), "two": (2, 0, 1)}.items():
        (tmp_path / folder).mkdir()
        for place, number in enumerate(order):
            write_table(
                tmp_path / folder / f"{place}.jsonl", ROWS[number * 100 : number * 100 + 100]
            )
    columns = {"text": "body", "time": "day"}
    one, two = (texts(tmp_path / folder, columns=columns, split=way) for folder in ("one", "two"))
    for split in SPLITS:
        assert sorted(one[split].splitlines()) == sorted(two[split].splitlines())
    assert sum(len(text.splitlines()) for text in one.values()) == 300
    assert 5 <= len(one["test"].splitlines()) <= 40
    if way == "time":
        days = {row["body"]: row["day"] for row in ROWS}
        latest = max(days[line] for line in one["train"].splitlines())
        assert all(days[line] > latest for line in one["test"].splitlines())
    else:
        assert texts(tmp_path / "one", columns=columns, split="random:2") != one


def test_wrong_splits(tmp_path: Path) -> None:
    write_table(tmp_path / "x.jsonl", ROWS)
    for way in ("hash:1", "random", "never", "random:"):
        with pytest.raises(InputError, match=f"text.split={way}: choose one of ordered, hash"):
            TextConfig(split=way)
    with pytest.raises(InputError, match="name the column with the time"):
        texts(tmp_path / "x.jsonl", columns={"text": "body"}, split="time")


def test_a_dataset_of_hugging_face(size: str, tmp_path: Path) -> None:
    """The layout of `save_to_disk`: Arrow streams, and a state that names them in order."""
    rows = [{"text": line} for line in LINES]
    for split, some in {"train": rows[:200], "validation": rows[200:], "test": rows[:9]}.items():
        folder = tmp_path / split
        folder.mkdir()
        names = [f"data-0000{n}-of-00002.arrow" for n in range(2)]
        half = len(some) // 2
        write_table(folder / names[0], some[:half])
        write_table(folder / names[1], some[half:])
        files = [{"filename": name} for name in names]
        (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "validation", "test"]}')
    found = texts(tmp_path)
    assert found["train"] + found["valid"] == TEXT
    one = texts(tmp_path / "train")
    assert "".join(one.values()) == found["train"]


def test_files_beside_the_splits_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(TEXT)
    (tmp_path / "extra.txt").write_text(TEXT)
    corpus = open_running_text(str(tmp_path), plain=True)
    assert [*corpus.documents] == ["train"]
    assert "not read, because their names contain no split: extra.txt" in corpus.notes


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.toml").write_text(TEXT)
    with pytest.raises(InputError, match="no file is named train, valid or test"):
        open_running_text(str(tmp_path))
