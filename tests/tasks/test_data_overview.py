"""The overview of data: what is recognised, counted and warned about."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from facts import write_facts
from films import draw_texts, write_label_folders
from tagged import write_tagged

from elman.errors import InputError
from elman.recipes import load_recipe
from elman.tasks.classification.task import Classification
from elman.tasks.data_overview import DataOverview
from elman.tasks.data_warnings import describe_data, is_sorted
from elman.text.reader import read_document

Rows = list[tuple[str, str]]


def write_table(folder: Path, **splits: Rows) -> str:
    """A folder of tables with a text and a label per line."""
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        (folder / f"{split}.tsv").write_text("".join(f"{text}\t{label}\n" for label, text in rows))
    return str(folder)


def rows(count: int, seed: int = 0) -> Rows:
    """Labelled texts, all different."""
    return [
        (label, f"{text} {seed}-{n}") for n, (label, text) in enumerate(draw_texts(count, seed))
    ]


def warned(found: DataOverview, text: str) -> bool:
    return any(text in warning for warning in found.warnings)


def test_running_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat sat .\n\nthe dog sat down .\n")
    (tmp_path / "test.txt").write_text("the bird sat .\n")
    found = describe_data(str(tmp_path))
    assert (found.kind, found.unit, found.tokenizer) == ("running text", "lines", "words")
    train, test = (found.splits[name] for name in ("train", "test"))
    text = train.sides["text"]
    assert (train.examples, train.empty, text.tokens, len(text.words)) == (3, 1, 9, 6)
    assert text.quantiles() == {"median": 5, "p95": 5, "longest": 5}
    assert test.unknown == {"text": 0.25}  # bird
    assert found.frequent_words()["text"][0] == ("the", 2)
    assert found.examples()[0] == {"text": "the cat sat ."}
    assert found.warnings == []
    assert found.unknown_characters() == {"test": {"b": 1, "i": 1, "r": 1}}
    assert found.dataset.format == "plain text, 2 files"


def test_raw_text_and_characters(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("He's here, isn't he? Yes, he is.\n" * 50)
    counts = describe_data(str(tmp_path / "raw.txt")).splits["train"].sides["text"]
    assert counts.words.most_common()[0][0] in ("He's", ",", "he")
    assert counts.quantiles()["median"] == 11
    (tmp_path / "chinese.txt").write_text("我今天很高兴因为天气很好而且没有什么事情要做\n" * 50)
    found = describe_data(str(tmp_path / "chinese.txt"))
    assert found.tokenizer == "bpe"
    assert found.splits["train"].sides["text"].quantiles()["longest"] == 22


def test_labelled_texts(tmp_path: Path) -> None:
    found = describe_data(write_table(tmp_path / "d", train=rows(60), test=rows(20, 1)))
    assert (found.kind, found.unit) == ("labelled texts", "texts")
    assert found.splits["train"].labels.total() == 60
    assert {*found.splits["test"].labels} == {"good", "bad"}
    assert {*found.examples()[0]} == {"text", "label"}
    assert found.warnings == []


def test_texts_with_any_number_of_labels(tmp_path: Path) -> None:
    given = [["a", "b"], ["a"], [], ["a", 0]] * 5
    table = tmp_path / "several.jsonl"
    table.write_text(
        "".join(json.dumps({"text": f"t {n}", "labels": one}) + "\n" for n, one in enumerate(given))
    )
    found = describe_data(str(table), {"text": "text", "label": "labels"})
    whole = found.dataset.whole
    assert whole is not None
    assert [*whole.labels[:4]] == ["a|b", "a", "", "a|0"]
    splits = found.splits.values()
    assert sum((split.labels for split in splits), Counter()) == {"a": 15, "b": 5, "0": 5}
    assert sum(split.labelled for split in splits) == 20  # three in four have the label a
    assert sum(split.empty_labels for split in splits) == 0
    assert not any("have no label" in line for line in found.warnings)


def test_notes_about_several_labels_in_columns_or_cells(tmp_path: Path) -> None:
    texts = [text for _, text in rows(20)]
    table = tmp_path / "t.csv"
    table.write_text("text,fun,sad,odd\n" + "".join(f"{text},0,1,0\n" for text in texts))
    assert any("3 columns of 0 and 1" in note for note in describe_data(str(table)).dataset.notes)
    table.write_text("text,label\n" + "".join(f"{text},fun|sad\n" for text in texts))
    notes = describe_data(str(table)).dataset.notes
    assert any("most labels contain '|', such as 'fun|sad'" in note for note in notes)


def test_labels_in_the_form_of_fasttext(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("__label__a __label__b x\n__label__a y\n" * 3)
    train = describe_data(str(tmp_path)).splits["train"]
    assert train.labels == {"__label__a": 6, "__label__b": 3}
    assert train.labelled == 6


def test_the_split_of_texts_with_several_labels_is_that_of_training(tmp_path: Path) -> None:
    given = [["b", "a"] if n % 3 else ["c", f"rare{n % 7}", "c", ""] for n in range(120)]
    lines = [json.dumps({"text": f"t {n}", "labels": one}) for n, one in enumerate(given)]
    path = tmp_path / "several.jsonl"
    path.write_text("\n".join(lines) + "\n")
    config = load_recipe("classifier")
    parts = Classification.splitter(config).split(Classification.read(read_document(path), config))
    found = describe_data(str(path)).dataset.splits
    for name, part in parts.items():
        assert [*found[name].columns["text"]] == [example.texts[0] for example in part]
        assert [*found[name].several] == [[*example.all_labels] for example in part]


def test_one_folder_per_label(tmp_path: Path) -> None:
    data = write_label_folders(tmp_path / "films", train=rows(60), test=rows(20, 1))
    (tmp_path / "films/train/good/none.txt").touch()
    (tmp_path / "films/train/urls.txt").write_text("http\n" * 9)
    found = describe_data(data)
    assert (found.kind, found.dataset.format) == ("labelled texts", "one folder per label")
    assert {name: split.examples for name, split in found.splits.items()} == {
        "train": 60,
        "test": 20,
    }
    assert {*found.splits["train"].labels} == {"good", "bad"}
    assert found.warnings == []  # not sorted by label
    assert any("left out: 1 file (good/none.txt) without text" in n for n in found.dataset.notes)
    whole = describe_data(f"{data}/test")
    assert sum(split.examples for split in whole.splits.values()) == 20


def test_columns_decide(tmp_path: Path) -> None:
    lines = [f"{n},{label},{text}" for n, (label, text) in enumerate(rows(40))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    found = describe_data(str(tmp_path / "t.csv"), {"text": "c", "label": "b"})
    assert found.kind == "labelled texts"
    assert {*found.splits["train"].labels} == {"good", "bad"}
    pairs = describe_data(str(tmp_path / "t.csv"), {"source": "b", "target": "c"})
    assert pairs.kind == "pairs of texts"
    assert [*pairs.splits["train"].sides] == ["source", "target"]


def test_tagged_sentences(tmp_path: Path) -> None:
    found = describe_data(str(write_tagged(tmp_path / "data")))
    assert (found.kind, found.unit) == ("tagged sentences", "sentences")
    assert found.splits["train"].examples == 80
    assert {"O", "B-PER", "B-LOC", "I-PER"} == {*found.splits["train"].labels}
    assert found.splits["train"].labels.total() == found.splits["train"].sides["text"].tokens


def test_pairs_of_files(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for language, text in {"en": "a dog\n\nthe cat\n", "fr": "un chien\nle\nle chat\n"}.items():
            (tmp_path / f"{split}.{language}").write_text(text)
    found = describe_data(str(tmp_path))
    assert found.kind == "pairs of texts"
    assert found.splits["train"].sides["target"].tokens == 5
    assert found.splits["train"].empty == 1
    assert warned(found, "train: 1 of 3 pairs have an empty text and are not trained on")
    assert warned(found, "test: 2 of 3 pairs are in the training split too")


def test_questions_on_passages(tmp_path: Path) -> None:
    found = describe_data(str(write_facts(tmp_path / "data", train=4, test=2)))
    assert (found.kind, found.unit) == ("questions on passages", "questions")
    train = found.splits["train"]
    assert train.examples == 24
    assert len(train.sides["passage"].lengths) == 4  # each is counted once
    assert train.duplicates == 0


def test_lists_minimal_pairs_and_unclear_tables(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    for label in ("Dutch", "Greek", "Irish"):
        (tmp_path / "lists" / f"{label}.txt").write_text("".join(f"{label}{n}\n" for n in range(9)))
    lists = describe_data(str(tmp_path / "lists"))
    assert lists.splits["all"].labels == {"Dutch": 9, "Greek": 9, "Irish": 9}
    good = '{"sentence_good": "he is", "sentence_bad": "he are"}\n' * 20
    (tmp_path / "pairs.jsonl").write_text(good)
    assert describe_data(str(tmp_path / "pairs.jsonl")).kind == "minimal pairs"
    (tmp_path / "numbers.tsv").write_text(
        "".join(f"{n}\t{n * n}\t{n + 1}\t{-n}\n" for n in range(50))
    )
    unclear = describe_data(str(tmp_path / "numbers.tsv"))
    assert unclear.kind == "not clear"
    assert any("--columns text=…,label=…" in note for note in unclear.dataset.notes)
    (tmp_path / "four.csv").write_text(
        "id,day,note,mark\n" + "".join(f"{n},{n % 7},told {n * n},{n % 2}\n" for n in range(50))
    )
    (note,) = (n for n in describe_data(f"{tmp_path}/four.csv").dataset.notes if "clear" in n)
    assert "(it has id, day, note, mark): --columns" in note


# Warnings -----------------------------------------------------------------------------------------


def _long(count: int) -> Rows:
    return [*rows(count), ("good", "very " * 1200 + "long")]


TABLES: dict[str, tuple[Callable[[], dict[str, Rows]], str]] = {
    "skew": (
        lambda: {"train": [("a" if n % 25 else "b", f"text {n}") for n in range(200)]},
        "train: 96% of the texts have the label 'a'",
    ),
    "rare": (
        lambda: {"train": [*rows(60), ("rare", "a b")]},
        "train: 1 of 3 labels have fewer than 5 texts (rare)",
    ),
    "unseen": (
        lambda: {"train": rows(60), "test": [*rows(20, 1), ("new", "a b")]},
        "test: 1 texts have labels that never occur in train (new)",
    ),
    "sorted": (
        lambda: {"train": sorted(rows(60))},
        "train: the texts are sorted by label",
    ),
    "copies": (
        lambda: {"train": [*rows(60), *rows(5)]},
        "train: 5 of 65 texts are copies of earlier ones",
    ),
    "conflicts": (
        lambda: {"train": [*rows(60), ("good", "same"), ("bad", "same")]},
        "train: 1 texts are copies of earlier ones with another label",
    ),
    "across": (
        lambda: {"train": rows(60), "test": [*rows(20, 1), *rows(2)]},
        "test: 2 of 22 texts are in the training split too",
    ),
    "empty": (
        lambda: {"train": [*rows(60), ("good", " ")]},
        "train: 1 of 61 texts have an empty text and are refused",
    ),
    "no label": (
        lambda: {"train": [*rows(60), ("", "a b")]},
        "train: 1 of 61 texts have no label",
    ),
    "long": (lambda: {"train": _long(60)}, "train: 1 text has more than 1,000 tokens"),
    "mojibake": (
        lambda: {"train": [*rows(60), ("good", "un cafÃ©")]},
        "1 characters look like UTF-8 that was read as Latin-1 (such as 'Ã©')",
    ),
    "lost": (
        lambda: {"train": [*rows(60), ("good", "un caf\ufffd")]},
        "1 characters were lost in an earlier conversion",
    ),
    "control": (
        lambda: {"train": [*rows(60), ("good", "bell \x07")]},
        "contains 1 control characters (such as '\\x07')",
    ),
}


@pytest.mark.parametrize("problem", TABLES)
def test_a_problem_is_named_and_no_other(problem: str, tmp_path: Path) -> None:
    make, said = TABLES[problem]
    found = describe_data(write_table(tmp_path / "d", **make()))
    assert warned(found, said), found.warnings
    assert len(found.warnings) == 1 + (problem == "conflicts") * warned(found, "are copies of")


def test_only_one_label_and_spans(tmp_path: Path) -> None:
    one = describe_data(
        write_table(tmp_path / "one", train=[("a", f"text {n}") for n in range(30)]),
        {"text": "1", "label": "2"},
    )
    assert warned(one, "only one label, 'a'")
    (tmp_path / "ner.txt").write_text("Ann B-PER\n" + "sees O\n" * 20 + "\n" + "a O\n. O\n\n" * 9)
    assert warned(describe_data(str(tmp_path / "ner.txt")), "judge by F1 of spans")


def test_sorted_files_are_told_from_shuffled_ones() -> None:
    assert is_sorted(["a"] * 20 + ["b"] * 20)
    assert not is_sorted(["a", "b"] * 20)
    assert not is_sorted(["a"] * 40)
    assert not is_sorted(["a"] * 5 + ["b"] * 5)  # too few to tell


def test_a_sorted_file_is_split_at_random(tmp_path: Path) -> None:
    lines = "".join(f"{text}\t{label}\n" for label, text in sorted(rows(100)))
    (tmp_path / "one.tsv").write_text(lines)
    found = describe_data(str(tmp_path / "one.tsv"))
    assert warned(found, "the file: the texts are sorted by label")
    assert {*found.splits["test"].labels} == {"good", "bad"}
    assert sum(split.examples for split in found.splits.values()) == 100


def test_an_overview_is_plain_data(tmp_path: Path) -> None:
    found = describe_data(write_table(tmp_path / "d", train=rows(60), test=rows(20, 1)))
    data: Any = json.loads(json.dumps(found.to_data(), allow_nan=False))
    assert data["splits"]["test"]["sides"]["text"]["unknown_share"] > 0
    assert data["splits"]["train"]["sides"]["text"]["lengths"].keys() == {
        "median",
        "p95",
        "longest",
    }
    assert data["sources"]["train"]["sha256"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ptb", "running text"),
        ("sst/stsa.binary", "labelled texts"),
        ("sst/trees", "labelled texts"),
        ("conll2000", "tagged sentences"),
        ("ud-english-ewt", "tagged sentences"),
        ("multi30k/raw", "pairs of texts"),
    ],
)
def test_published_data_is_recognised(name: str, kind: str, corpus: Callable[[str], Path]) -> None:
    folder, _, inside = name.partition("/")
    assert describe_data(str(corpus(folder) / inside)).kind == kind


def test_another_script(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat sat down .\n" * 100)
    (tmp_path / "test.txt").write_text("the cat sat down .\n" * 90 + "кот спит .\n" * 10)
    (warning,) = [one for one in describe_data(str(tmp_path)).warnings if "characters" in one]
    # 7 of 10 characters in ten lines are Cyrillic: 70 of 90 * 18 + 10 * 10 = 1,720.
    assert warning.startswith("test: 4% of its characters never occur in train (such as")


# Data that only language models read --------------------------------------------------------------

SENTENCES = [f"the cat number {n} sees a dog ." for n in range(100)]


def json_lines(texts: list[str]) -> str:
    return "".join(json.dumps({"id": n, "body": text}) + "\n" for n, text in enumerate(texts))


@pytest.mark.parametrize("columns", [{}, {"text": "body"}])
def test_the_column_of_a_table(columns: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json_lines(SENTENCES) + "{\n")
    found = describe_data(str(tmp_path / "a.jsonl"), columns)
    assert (found.kind, found.dataset.format) == ("running text", "JSON lines, 1 file")
    assert sum(split.examples for split in found.splits.values()) == 100
    assert any("100 of 101 lines are used; 1 are not JSON" in one for one in found.dataset.notes)


def test_shards_and_patterns(tmp_path: Path) -> None:
    for shard in range(3):
        text = json_lines(SENTENCES[shard::3])
        (tmp_path / f"p-{shard}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    for data in (tmp_path, tmp_path / "p-*.jsonl.gz"):
        found = describe_data(str(data))
        assert found.dataset.format == "JSON lines, gzip, 3 files"
        assert sum(split.examples for split in found.splits.values()) == 100


def test_a_rotated_log_and_a_pattern_of_several_kinds(tmp_path: Path) -> None:
    for name in ("app.log", "app.log.1", "app.log.2"):
        (tmp_path / name).write_text("job 7 done in 30 ms\n" * 20)
    for data in (tmp_path, tmp_path / "app.log*"):
        assert describe_data(str(data)).dataset.kind == "running text"
    (tmp_path / "notes.md").write_text("Restart it.\n")
    with pytest.raises(InputError, match="files of several kinds"):
        describe_data(f"{tmp_path}/*")


def test_a_large_text_is_described_by_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elman.tasks.data_kinds.IN_MEMORY", 1000)
    monkeypatch.setattr("elman.text.streamed.IN_MEMORY", 1000)
    monkeypatch.setattr("elman.text.reader._BLOCK", 100)
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in SENTENCES))
    found = describe_data(str(tmp_path / "a.txt"))
    assert [*found.splits] == ["all"]
    assert 0 < found.splits["all"].sides["text"].characters <= 1000
    assert any("only its first" in note for note in found.dataset.notes)
