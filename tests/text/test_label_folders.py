"""Labelled texts in one folder per label: what is read, left out and reported."""

import gzip
import json
from pathlib import Path

import pytest

from elman.errors import InputError
from elman.tasks.classification.reader import read_labelled
from elman.text.corpora import Corpus, open_corpus
from elman.text.label_folders import find_label_folders, read_label_folder


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def opened(folder: Path) -> Corpus:
    return open_corpus(str(folder), label_folders=True)


def read(folder: Path) -> dict[str, str]:
    """The label of every text."""
    document = read_label_folder(folder)
    return {example.texts[0]: example.label for example in read_labelled(document)}


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """A folder with splits, as the reviews of aclImdb are published."""
    splits = {
        f"{split}/{label}/{number}_7.txt": f"{label} film {number}\nof {split}\n"
        for split in ("train", "test")
        for label in ("pos", "neg")
        for number in range(3)
    }
    others = {"README": "x", "imdb.vocab": "film\n", "imdbEr.txt": "1\n"}
    inside = {"train/urls_pos.txt": "http\n", "train/unsup/1_0.txt": "what film\n"}
    return write(tmp_path / "films", {**splits, **others, **inside})


def test_folders_of_splits(films: Path) -> None:
    corpus = opened(films)
    assert (*corpus.documents,) == ("train", "test")
    assert corpus.whole is None
    train = corpus.split("train")
    assert train.name == str(films / "train")
    labels = {example.texts[0]: example.label for example in read_labelled(train)}
    assert labels == {
        f"{label} film {n}\nof train": label for label in ("pos", "neg") for n in range(3)
    }
    assert train.notes == [
        f"{films}/train: 6 texts, one per file; the labels are the names of the 2 folders "
        "(neg, pos)",
        f"{films}/train: not read: 1 folder (unsup) without a label or without files",
    ]


def test_folders_without_splits(tmp_path: Path) -> None:
    files = {f"{label}/{n:04}": f"{label} {n}" for label in ("sport", "tech") for n in range(30)}
    corpus = opened(write(tmp_path / "news", files))
    assert corpus.whole is not None
    examples = read_labelled(corpus.whole)
    assert len(examples) == 60
    assert [e.label for e in examples][:8].count("sport") not in (0, 8)  # not sorted by label
    again = opened(tmp_path / "news")
    assert again.whole is not None
    assert corpus.whole.sha256() == again.whole.sha256()


def test_names_of_splits_in_longer_names(tmp_path: Path) -> None:
    files = {f"20news-bydate-{s}/{x}.misc/1": f"{s} {x}" for s in ("train", "test") for x in "ab"}
    found = find_label_folders(write(tmp_path, files))
    assert {split: path.name for split, path in found.items()} == {
        "train": "20news-bydate-train",
        "test": "20news-bydate-test",
    }


def test_a_split_with_a_single_label(tmp_path: Path) -> None:
    files = {"train/pos/1": "a", "train/neg/1": "b", "test/pos/1": "c"}
    corpus = opened(write(tmp_path, files))
    assert [e.label for e in read_labelled(corpus.split("test"))] == ["pos"]


def test_files_that_are_left_out_are_counted(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "mixed",
        {
            "bad/1.txt": "dull",
            "bad/2.txt": "",
            "bad/3.txt": " \n\n",
            "bad/4.txt": "d\xe9j\xe0 vu".encode("latin-1"),
            "bad/5.txt.gz": gzip.compress(b"weak"),
            "bad/.hidden": "x",
            "good/1.txt": b"\xef\xbb\xbffine\r\n",
            "good/2.dat": b"\0\1",
            "good/more/3.txt": "warm",
            "empty/.keep": "",
        },
    )
    assert read(folder) == {"dull": "bad", "weak": "bad", "fine": "good"}
    texts, changed, empty, unreadable, inner, others = (
        note.removeprefix(f"{folder}: ") for note in read_label_folder(folder).notes
    )
    assert texts.startswith("3 texts, one per file")
    assert changed == "1 file has a byte order mark or Windows line ends"
    assert empty == "left out: 2 files (bad/2.txt, bad/3.txt) without text"
    assert unreadable.startswith(
        "left out: 2 files (bad/4.txt, good/2.dat) that cannot be read; the first: "
        f"{folder}/bad/4.txt, line 1: byte 0xE9 is not UTF-8"
    )
    assert inner == "not read: 1 folder (good/more) inside the folders of labels"
    assert others == "not read: 1 folder (empty) without a label or without files"


def test_rows_are_json_lines(films: Path) -> None:
    lines = read_label_folder(films / "test").text.splitlines()
    assert len(lines) == 6
    assert {"text": "neg film 0\nof test", "label": "neg"} in [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    "files",
    [
        {"films.csv": "text,label\n", "pos/1.txt": "a", "neg/1.txt": "b"},
        {"train.tsv": "a\tb\n", "test.tsv": "a\tb\n", "pos/1.txt": "a", "neg/1.txt": "b"},
        {"train/1.txt": "a", "test/1.txt": "b"},  # shards of running text
        {"pos/1.txt": "a"},
        {"pos/1.txt": "a", "unsup/1.txt": "b"},
        {"a.txt": "a", "b.txt": "b"},
    ],
    ids=["a table", "split files", "shards", "one label", "one label and none", "files"],
)
def test_other_folders_are_read_as_before(files: dict[str, str | bytes], tmp_path: Path) -> None:
    assert find_label_folders(write(tmp_path, files)) == {}


def test_refusals(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty", {"neg/1.txt": "", "pos/1.txt": b"\xff\xff"})
    with pytest.raises(InputError, match=r"\(neg, pos\) but no text in their files \(.*pos/1.txt"):
        opened(empty)
    several = {f"train{n}/{label}/1": "a" for n in "_a _b".split() for label in "pn"}
    with pytest.raises(InputError, match=r"several folders could be the train texts \(train_a, t"):
        opened(write(tmp_path / "several", several))


def test_only_classifiers_read_label_folders(films: Path) -> None:
    with pytest.raises(InputError, match="no file is named train, valid or test"):
        open_corpus(str(films))


def test_a_folder_of_runs_is_no_data(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write(tmp_path, {f"{name}/manifest.json": "{}", f"{name}/config.json": "{}"})
    assert find_label_folders(tmp_path) == {}
