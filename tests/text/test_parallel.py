"""Parallel files: which belong together, and how their lines are aligned."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from elman.errors import InputError
from elman.tasks.translation.pairs import PairDocument
from elman.tasks.translation.parallel import open_parallel
from elman.text.task_config import PairConfig

CONFIG = PairConfig(source="en", target="de")


def write(folder: Path, **texts: str) -> Path:
    """Files of these texts; in a name, __ stands for a dot."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        path = folder / name.replace("__", ".")
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return folder


def pairs(document: object) -> list[tuple[object, str]]:
    assert isinstance(document, PairDocument)
    return [(pair.source, pair.target) for pair in document.pairs]


def test_splits_by_their_names(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        train__lc__tok__en="a\nb\n",
        train__lc__tok__de__gz="A\nB\n",
        train__lc__tok__fr="x\n",
        val__en__gz="c",
        val__de="C",
        test_2016__en__txt="d\n",
        test_2016__de__txt="D\n",
        README="nothing",
    )
    corpus = open_parallel(str(folder), CONFIG)
    assert [*corpus.documents] == ["train", "valid", "test"]
    assert pairs(corpus.split("train")) == [("a", "A"), ("b", "B")]
    assert pairs(corpus.split("valid")) == [("c", "C")]
    assert pairs(corpus.split("test")) == [("d", "D")]
    assert corpus.whole is None


def test_several_texts_for_a_split_keep_their_names(tmp_path: Path) -> None:
    both = {f"test_{year}__{side}": f"{year}{side}" for year in (16, 17) for side in ("en", "de")}
    corpus = open_parallel(str(write(tmp_path, train__en="a", train__de="A", **both)), CONFIG)
    assert [*corpus.documents] == ["train", "test_16", "test_17"]
    with pytest.raises(InputError, match="has no 'test' split, only train, test_16, test_17"):
        corpus.split("test")
    begun = open_parallel(str(tmp_path / "test_17"), CONFIG)
    assert begun.whole is not None
    assert pairs(begun.whole) == [("17en", "17de")]


def test_the_other_direction(tmp_path: Path) -> None:
    write(tmp_path, train__en="a", train__de="A")
    corpus = open_parallel(str(tmp_path), PairConfig(source="de", target="en"))
    assert pairs(corpus.split("train")) == [("A", "a")]


def test_empty_lines_never_shift_the_others(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\n\nc\nd\n", train__de="A\nB\n\nD\n")
    document = open_parallel(str(tmp_path), CONFIG).split("train")
    assert pairs(document) == [("a", "A"), ("", "B"), ("c", ""), ("d", "D")]
    assert document.notes == ["2 of 4 pairs have an empty side and are not trained on"]


def test_tabs_are_spaces_and_said(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\tb\n", train__de="A\n")
    document = open_parallel(str(tmp_path), CONFIG).split("train")
    assert pairs(document) == [("a b", "A")]
    assert document.notes == ["1 tabs were read as spaces"]


def test_vectors_as_sources(tmp_path: Path) -> None:
    write(tmp_path, train__txt="one\ntwo\n")
    np.save(tmp_path / "train.npy", np.arange(6.0).reshape(2, 3))
    corpus = open_parallel(str(tmp_path), PairConfig(source="npy", target="txt"))
    (first, text), _ = pairs(corpus.split("train"))
    assert text == "one"
    assert np.array_equal(np.asarray(first), [[0, 1, 2]])


def test_built_in_corpora_and_columns_are_opened_as_ever(tmp_path: Path) -> None:
    assert open_parallel("reverse:lines=40", CONFIG).split("train").lines == 40
    (tmp_path / "all.tsv").write_text("a\tb\n" * 50)
    assert open_parallel(str(tmp_path / "all.tsv"), CONFIG).whole is not None
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "train.tsv").write_text("a\tb\n")
    assert open_parallel(str(tmp_path / "x"), CONFIG).split("train").text == "a\tb\n"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"train__en": "a\nb\n", "train__de": "A\n"},
            r"train.en has 2 lines and .*train.de has 1 lines; line n",
        ),
        ({"train__en": "a\n"}, "train.en: has no other side; put train.de beside it"),
        (
            {"train__en": "a\n", "train__fi": "b\n", "train__se": "c\n"},
            r"put train.de beside it, or take train.fi with --set text.target=fi",
        ),
        (
            {"train__fr": "a", "test__it": "b"},
            "no two files like train.en and train.de; .* end in fr, it",
        ),
        ({"train__en": "a", "train__en__gz": "a", "train__de": "b"}, "the same text twice"),
        ({"train__en": "a\n\n", "train__de": "\nA\n"}, "no line has text in train.de too"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, texts: dict[str, str], message: str) -> None:
    write(tmp_path, **texts)
    with pytest.raises(InputError, match=message):
        open_parallel(str(tmp_path), CONFIG)


@pytest.mark.parametrize(
    ("there", "direction"),
    [(("en", "fi"), ("en", "fi")), (("cs", "en"), ("en", "cs")), (("fr", "it"), ("fr", "it"))],
)
def test_the_two_languages_of_the_folder_are_taken(
    tmp_path: Path, there: tuple[str, str], direction: tuple[str, str]
) -> None:
    write(
        tmp_path, **{f"{split}__{one}": f"{one}\n" for one in there for split in ("train", "val")}
    )
    corpus = open_parallel(str(tmp_path), CONFIG)
    assert pairs(corpus.split("train")) == [direction]
    source, target = direction
    assert corpus.all_notes() == [
        f"from {source} to {target}, the languages of the folder; for the other direction: "
        f"--set text.source={target} --set text.target={source}"
    ]


def test_chosen_sides_stay(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\n", train__fi="b\n")
    with pytest.raises(InputError, match="put train.sv beside it"):
        open_parallel(str(tmp_path), PairConfig(source="en", target="sv"))
    reverse = open_parallel(str(tmp_path), PairConfig(source="fi", target="en"))
    assert pairs(reverse.split("train")) == [("b", "a")]
    assert reverse.all_notes() == []


def test_a_folder_of_folders_names_them(tmp_path: Path) -> None:
    (tmp_path / "tok").mkdir()
    with pytest.raises(InputError, match=r"has folders only \(tok\); give one of them"):
        open_parallel(str(tmp_path), CONFIG)
