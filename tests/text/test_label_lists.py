"""Labelled texts in one list per label: what is read, left out and reported."""

from pathlib import Path

import pytest

from elman.errors import InputError
from elman.tasks.classification.reader import read_labelled
from elman.tasks.data_warnings import describe_data
from elman.tasks.recipe_choice import choose_recipe
from elman.text.corpora import open_corpus
from elman.text.label_lists import are_clearly_labels, as_lines, as_rows, find_label_lists
from elman.training.budget import Budget

NAMES = {
    "Dutch": "Aalst\nKuijpers\n\nAalst\n",
    "Greek": "Adamou\nKokinos",
    "Irish": "Byrne\n O'Neal \n",
}


def lists(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_every_line_has_the_name_of_its_list(tmp_path: Path) -> None:
    document = as_rows(lists(tmp_path / "names", NAMES))
    read = {(example.texts[0], example.label) for example in read_labelled(document)}
    assert read == {
        ("Aalst", "Dutch"),
        ("Kuijpers", "Dutch"),
        ("Adamou", "Greek"),
        ("Kokinos", "Greek"),
        ("Byrne", "Irish"),
        ("O'Neal", "Irish"),
    }
    # 8 lines are read: 6 texts, 1 copy and 1 empty line
    assert document.notes[-1] == (
        "3 lists with 8 lines, 2 of them duplicates or empty; each label is the name of a list"
    )


def test_lines_for_language_models_begin_with_the_label(tmp_path: Path) -> None:
    text = as_lines(lists(tmp_path / "names", NAMES)).text
    assert sorted(text.splitlines())[:2] == ["Dutch: Aalst", "Dutch: Kuijpers"]
    assert text.splitlines() != sorted(text.splitlines()), "the order is random"


def test_a_folder_of_lists_in_each_split(tmp_path: Path) -> None:
    for split in ("train", "test"):
        lists(tmp_path / "reviews" / split, {"pos": f"good {split}\n", "neg": f"bad {split}\n"})
    corpus = open_corpus(str(tmp_path / "reviews"), label_folders=True)
    assert (*corpus.documents,) == ("train", "test")
    (first, second) = sorted(read_labelled(corpus.split("test")), key=lambda one: str(one.label))
    assert (first.texts[0], first.label) == ("bad test", "neg")
    assert (second.texts[0], second.label) == ("good test", "pos")


@pytest.mark.parametrize(
    "names", [("train", "test"), ("Dutch",), ("train-a", "train-b"), ("notes", "valid")]
)
def test_files_of_splits_and_single_files_are_no_lists(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    assert find_label_lists(lists(tmp_path / "data", dict.fromkeys(names, "a\n"))) == {}


def test_other_files_make_it_no_folder_of_lists(tmp_path: Path) -> None:
    folder = lists(tmp_path / "data", NAMES)
    assert find_label_lists(folder) == {"": folder}
    (folder / "labels.csv").write_text("a,b\n")
    assert find_label_lists(folder) == {}


def test_names_are_clearly_lists_and_stories_are_not(tmp_path: Path) -> None:
    assert are_clearly_labels(lists(tmp_path / "names", NAMES))
    story = "the old man went down to the sea again .\n" * 30
    stories = lists(tmp_path / "stories", dict.fromkeys(("one", "two", "three"), story))
    assert not are_clearly_labels(stories)
    assert choose_recipe(str(tmp_path / "names"), Budget.parse("1m")) == "classifier"
    assert choose_recipe(str(stories), Budget.parse("1m")) == "small"
    overview = describe_data(str(stories))
    assert overview.kind == "running text"
    assert any("train classifier" in note for note in overview.dataset.notes)


def test_two_lists_may_be_two_texts(tmp_path: Path) -> None:
    two = lists(tmp_path / "two", {"pos": "good\n", "neg": "bad\n"})
    assert not are_clearly_labels(two)
    assert {one.label for one in read_labelled(as_rows(two))} == {"pos", "neg"}


def test_lists_without_text_are_refused(tmp_path: Path) -> None:
    folder = lists(tmp_path / "empty", {"a": "word\n", "b": " \n"})
    with pytest.raises(InputError, match=r"b\.txt: contains no text"):
        as_rows(folder)
