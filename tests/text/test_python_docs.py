"""The corpus python-docs: lines, and disjoint splits."""

import platform
import sys

import pytest

from elman.errors import InputError
from elman.text import python_docs
from elman.text.python_docs import PythonDocs, python_docs_text

SPLITS = ("train", "valid", "test")

TOPICS = {
    "b": 'The "b" statement\n*****************\n\nShared words here.\n\n   x = 1\n   y = 2\n',
    "a": "Shared   words\nhere.\n\n\n\nShared words here.\n",
}


@pytest.fixture
def two_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydoc_data.topics.topics", TOPICS)


@pytest.mark.usefixtures("two_topics")
def test_paragraphs_become_lines_and_repeated_ones_are_left_out() -> None:
    # Topic a comes first and keeps the shared line: 3 words. Topic b has 3 + 6 = 9 of its own.
    # 12 words are shared out as 9.6, 1.2 and 1.2. The larger topic, b, goes to train, which then
    # lacks 0.6; so a goes to valid, the first of the two that lack 1.2.
    assert python_docs_text("train") == 'The "b" statement\nx = 1 y = 2\n'
    assert python_docs_text("valid") == "Shared words here.\n"
    assert python_docs_text("test") == ""


@pytest.mark.parametrize(
    "drawn", ["*****", "=====", "-----", "~~~~", "   ====", "+---+---+", "|===|"]
)
def test_drawn_lines_are_left_out(monkeypatch: pytest.MonkeyPatch, drawn: str) -> None:
    monkeypatch.setattr("pydoc_data.topics.topics", {"t": f"Title\n{drawn}\n\n{drawn}\n\nText."})
    assert python_docs_text("train") == "Title\nText.\n"


@pytest.mark.parametrize("written", ["...", ">>>", "**", "a == b", "| x | y |", "x = [] # ---"])
def test_other_lines_are_kept(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setattr("pydoc_data.topics.topics", {"t": f"Code:\n\n   {written}\n"})
    assert python_docs_text("train") == f"Code:\n{written}\n"


def test_sizes_of_the_splits() -> None:
    words = {split: len(python_docs_text(split).split()) for split in SPLITS}
    total = sum(words.values())
    assert total > 40_000
    assert all(0.07 < words[split] / total < 0.14 for split in ("valid", "test"))


def test_no_line_is_in_two_splits_or_twice_in_one() -> None:
    lines = [line for split in SPLITS for line in python_docs_text(split).splitlines()]
    assert len(lines) == len(set(lines))


def test_nothing_is_lost() -> None:
    kept = {line for split in SPLITS for line in python_docs_text(split).splitlines()}
    topics = python_docs._topics()
    assert kept == {line for text in topics.values() for line in python_docs._paragraphs(text)}


def test_lines_are_clean() -> None:
    for split in SPLITS:
        text = python_docs_text(split)
        assert text.endswith("\n")
        assert all(line == " ".join(line.split()) != "" for line in text[:-1].split("\n"))


def test_details_name_version_and_counts() -> None:
    line = PythonDocs().details()
    words = len(python_docs_text("valid").split())
    assert platform.python_version() in line
    assert f"valid {words:,}" in line
    assert "\n" not in line


def test_unknown_split() -> None:
    with pytest.raises(InputError, match="unknown split 'training'; did you mean 'train'"):
        python_docs_text("training")


def test_a_python_without_the_topics_gets_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(InputError, match="without 'pydoc_data'; install") as caught:
        python_docs_text("train")
    assert "\n" not in str(caught.value)
