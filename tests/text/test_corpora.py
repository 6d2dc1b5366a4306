"""Corpora: folders by file names, a single file in three parts, built-in ones."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import elman
from elman.errors import InputError
from elman.text.corpora import CORPORA, open_corpus, split_document
from elman.text.reader import Document
from elman.text.running_text import open_running_text
from elman.text.split_names import SPLITS


def fill(folder: Path, *names: str) -> Path:
    """Files that contain their own names."""
    for name in names:
        data = f"{name}\n".encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "valid.txt", "test.txt"),
        ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"),
        ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
        ("training.txt", "val.txt", "test.txt"),
        ("Train", "DEV", "TEST"),
        ("train-1.txt.gz", "validation_1.txt.gz", "test2.txt.gz"),
    ],
)
def test_the_splits_of_a_folder_are_found_by_name(tmp_path: Path, names: tuple[str, ...]) -> None:
    corpus = open_corpus(str(fill(tmp_path, *names, "README.txt", ".train.swp", "latest.txt")))
    assert [corpus.split(split).text for split in SPLITS] == [f"{name}\n" for name in names]
    assert corpus.whole is None


def test_a_split_that_is_missing_is_named_with_those_there_are(tmp_path: Path) -> None:
    corpus = open_corpus(str(fill(tmp_path, "train.txt", "dev.txt")))
    with pytest.raises(InputError, match=r"no 'test' split, only train, valid;.*\*test\*"):
        corpus.split("test")


def test_two_files_for_one_split_are_ambiguous(tmp_path: Path) -> None:
    fill(tmp_path, "train.txt", "train.txt.gz", "test.txt")
    with pytest.raises(InputError, match=r"train text \(train\.txt, train\.txt\.gz\)"):
        open_corpus(str(tmp_path))


def test_a_folder_with_one_file_is_that_file(tmp_path: Path) -> None:
    corpus = open_corpus(str(fill(tmp_path, "novel.txt", "README")))
    assert corpus.whole is not None
    assert corpus.whole.text == "novel.txt\n"


@pytest.mark.parametrize("names", [("a.txt", "b.txt"), ("latest.txt", "contest.txt")])
def test_a_folder_without_splits_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}: no file is named train"):
        open_corpus(str(fill(tmp_path, *names)))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is empty; give a folder with text files"):
        open_corpus(str(tmp_path))


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> None:  # chmod does not stop root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        open_corpus(str(tmp_path))


@pytest.mark.parametrize("data", ["gramar", "x" * 5000, "no/such/file.txt"])
def test_what_is_not_there_is_named(data: str) -> None:
    with pytest.raises(InputError, match=f"{data}: no such file, folder or built-in corpus"):
        open_corpus(data)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'grammar'"):
        open_corpus("gramar")


@pytest.mark.parametrize("name", list(CORPORA))
def test_built_in_corpora_have_three_different_splits(name: str) -> None:
    corpus = open_corpus(name)
    texts = [corpus.split(split).text for split in SPLITS]
    assert len({*texts}) == 3
    assert len(texts[0]) > len(texts[1]) > 1000
    assert corpus.notes


# One file ---------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(["one two\n", "\n", "three", " ", "\r", "\u2028 x\n"]), max_size=200)
)
def test_the_three_parts_are_the_file(pieces: list[str]) -> None:
    text = "".join(["first", *pieces, "last"])  # a part without a word would be left out
    corpus = split_document(Document("f", text))
    parts = [corpus.documents[split].text for split in SPLITS if split in corpus.documents]
    left_out = len(text) - sum(map(len, parts))
    assert left_out == 0 or len(parts) < 3
    if left_out == 0:
        assert "".join(parts) == text
    assert text.startswith(parts[0])
    assert corpus.whole is not None
    assert corpus.whole.text == text


def test_a_file_of_lines_is_cut_between_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    corpus = split_document(Document("f", text, ["a note"]))
    assert [corpus.split(split).lines for split in SPLITS] == [90, 5, 5]
    assert corpus.split("valid").text.startswith("line 90\n")
    assert corpus.notes[0] == "a note"
    assert "90 % of lines" in corpus.notes[1]


def test_the_last_line_needs_no_newline() -> None:
    corpus = split_document(Document("f", "\n".join("abcd" * 10)))
    assert [corpus.split(split).lines for split in SPLITS] == [36, 2, 2]
    assert "".join(corpus.split(split).text for split in SPLITS) == "\n".join("abcd" * 10)


def test_one_giant_line_is_cut_between_words() -> None:
    text = "word " * 999 + "end"
    corpus = split_document(Document("f", text))
    parts = [corpus.split(split).text for split in SPLITS]
    assert "".join(parts) == text
    assert [len(part.split()) for part in parts] == [900, 50, 50]
    assert "between words" in corpus.notes[0]


@pytest.mark.parametrize("text", ["one", "one two", "one\n", "漢" * 1000])
def test_too_few_words_are_all_for_training(text: str) -> None:
    corpus = split_document(Document("f", text))
    assert list(corpus.documents) == ["train"]
    assert corpus.split("train").text == text
    assert "no text is left for valid and test" in corpus.notes[0]
    assert "90 %" not in corpus.notes[0]


def test_a_folder_with_several_sets_is_opened_by_the_beginning_of_their_names(
    tmp_path: Path,
) -> None:
    fine = ("stsa.fine.train", "stsa.fine.dev", "stsa.fine.test")
    fill(tmp_path, *fine, "stsa.binary.train", "stsa.binary.test", "stsa.finer.train")
    corpus = open_corpus(str(tmp_path / "stsa.fine"))
    assert [corpus.split(split).text for split in SPLITS] == [f"{name}\n" for name in fine]
    assert corpus.name == str(tmp_path / "stsa.fine")
    assert corpus.whole is None
    assert [*open_corpus(str(tmp_path / "stsa.binary")).documents] == ["train", "test"]
    with pytest.raises(InputError, match="several files could be the train text"):
        open_corpus(str(tmp_path / "stsa"))


@pytest.mark.parametrize("name", ["stsa.fin", "sts", "novel", "train"])
def test_a_name_that_only_looks_like_a_set_is_refused(tmp_path: Path, name: str) -> None:
    fill(tmp_path, "stsa.fine.train", "novel.txt", "train.txt")
    with pytest.raises(InputError, match="no such file"):
        open_corpus(str(tmp_path / name))


TABLE = "".join(f"a dog sees the cat {number}\tpos\n" for number in range(50))


@pytest.fixture
def table(tmp_path: Path) -> str:
    (tmp_path / "table.txt").write_text(TABLE)
    return str(tmp_path / "table.txt")


def test_a_table_is_refused_by_training_and_evaluation(table: str) -> None:
    for recipe in ("ngram", "quick", "elmo-small"):
        with pytest.raises(InputError, match="looks like tab-separated columns"):
            elman.train(recipe, data=table)
    trained = elman.train("ngram", data="grammar")
    with pytest.raises(InputError, match="looks like tab-separated columns"):
        trained.evaluate(table)


def test_any_file_can_be_learned_as_it_is(table: str, tmp_path: Path) -> None:
    trained = elman.train("ngram", data=table, overrides=["text.plain=true"], out=tmp_path / "run")
    assert elman.load(tmp_path / "run").evaluate(table).tokens > 0
    assert trained.config.text.plain


def test_every_file_of_a_folder_is_checked(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a dog sees a cat\n" * 50)
    (tmp_path / "valid.txt").write_text(TABLE)
    with pytest.raises(InputError, match="valid.txt: looks like"):
        open_running_text(str(tmp_path))


def test_built_in_corpora_are_text() -> None:
    for name in ("number-words", "arithmetic", "copy"):
        assert open_running_text(name).documents
