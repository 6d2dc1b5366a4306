"""The recipe that data asks for."""

import json
from pathlib import Path

import pytest
from films import draw_texts, write_label_folders
from pairs import draw_pairs, write_parallel
from tagged import write_tagged
from tiny import write_sentences

from elman.errors import InputError
from elman.tasks import recipe_choice
from elman.tasks.data_warnings import describe_data
from elman.training.budget import Budget

SQUAD = {"data": [{"paragraphs": [{"context": "Ann is in Rome.", "qas": []}]}]}
TREES = "(3 (2 The) (4 Rock))\n" * 30
PROSE = "It rained. We stayed inside, and nobody spoke for hours.\nThen the sun came out.\n" * 40


def choose_recipe(data: str, budget: str = "10m") -> str:
    return recipe_choice.choose_recipe(data, Budget.parse(budget))


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_running_text(tmp_path: Path) -> None:
    assert choose_recipe(str(write_sentences(tmp_path / "data"))) == "small"
    assert choose_recipe(write(tmp_path / "prose.txt", PROSE)) == "small"
    long = write(tmp_path / "long.txt", PROSE * 400)
    assert choose_recipe(long) == choose_recipe(long, "70teraflop") == "quick"
    assert choose_recipe(long, "9m") == choose_recipe(long, "5teraflop") == "small"
    assert choose_recipe(long, "1h") == choose_recipe(long, "400teraflop") == "hour"


def test_a_log_is_running_text(tmp_path: Path) -> None:
    steps = [("install", 7), ("status half-installed", 7), ("status unpacked", 8), ("configure", 8)]
    lines = [f"{step} vim:amd64 9.{n}-{n + m}\n" for n in range(30) for step, m in steps]
    assert choose_recipe(write(tmp_path / "dpkg.txt", "".join(lines))) == "small"
    levels = [("INFO", "job done in"), ("WARN", "slow query, ms")]
    lines = [f"{level} {what} {n}\n" for n in range(30) for level, what in levels]
    assert choose_recipe(write(tmp_path / "app.txt", "".join(lines))) == "small"


def test_labelled_texts_may_have_numbers(tmp_path: Path) -> None:
    texts = enumerate(draw_texts(60, 0))
    lines = [f"{label} {text}{' 1999' * (n % 3 == 0)}\n" for n, (label, text) in texts]
    assert choose_recipe(write(tmp_path / "x.txt", "".join(lines))) == "classifier"


def test_many_files_are_running_text(tmp_path: Path) -> None:
    for name in ("app.log", "app.log.1", "app.log.2", "app.log-20261001"):
        write(tmp_path / name, PROSE)
    assert choose_recipe(str(tmp_path)) == choose_recipe(f"{tmp_path}/app*") == "small"
    write(tmp_path / "app.log", PROSE * 400)
    assert choose_recipe(str(tmp_path)) == "quick"
    write(tmp_path / "notes.md", PROSE)
    with pytest.raises(InputError, match=r"files of several kinds \(.log, .md\)"):
        choose_recipe(f"{tmp_path}/*")


def test_tagged_words(tmp_path: Path) -> None:
    assert choose_recipe(str(write_tagged(tmp_path / "data"))) == "tagger"
    word = "1\tHi\thi\tINTJ\tUH\t_\t0\troot\t0:root\t_\n\n"
    assert choose_recipe(write(tmp_path / "x.conllu", word * 20)) == "tagger"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.tsv", "{text}\t{label}\n"),
        ("x.csv", '"{text}",{label}\n'),
        ("x.txt", "{label} {text}\n"),
    ],
)
def test_labelled_texts(tmp_path: Path, name: str, form: str) -> None:
    lines = [form.format(label=label, text=text) for label, text in draw_texts(60, 0)]
    assert choose_recipe(write(tmp_path / name, "".join(lines))) == "classifier"


def test_a_space_after_every_comma(tmp_path: Path) -> None:
    texts = enumerate(draw_texts(60, 0))
    lines = [f'"{n}, {text}", {label}\n' for n, (label, text) in texts]
    assert choose_recipe(write(tmp_path / "x.csv", "text, label\n" + "".join(lines))) == (
        "classifier"
    )


def test_lists_of_words_and_tags(tmp_path: Path) -> None:
    line = json.dumps({"tokens": ["Ann", "sings"], "tags": ["B-PER", "O"]}) + "\n"
    data = write(tmp_path / "x.jsonl", line * 3)
    assert choose_recipe(data) == "tagger"
    assert describe_data(data).splits["train"].labels == {"B-PER": 1, "O": 1}


def test_comments_before_tagged_sentences(tmp_path: Path) -> None:
    block = "# id {}\nDogs\tNNS\nbark\tVBP\n.\t.\n\n"
    data = write(tmp_path / "x.conll", "".join(map(block.format, range(9))))
    assert choose_recipe(data) == "tagger"


def test_labels_in_the_form_of_fasttext(tmp_path: Path) -> None:
    lines = [f"__label__{n % 7} __label__{n % 3} film {n}\n" for n in range(9)]
    assert choose_recipe(write(tmp_path / "x.txt", "".join(lines))) == "classifier"


def test_named_columns_say_what_a_table_is(tmp_path: Path) -> None:
    rows = [{"treść": text, "dział": label, "autor": "x"} for label, text in draw_texts(60, 0)]
    data = write(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)))
    roles = {"classifier": ["text", "label"], "translator": ["source", "target"], "small": ["text"]}
    for recipe, given in roles.items():
        assert recipe_choice.choose_recipe(data, Budget.parse("10m"), given) == recipe
    with pytest.raises(InputError, match="has no text.*--columns"):
        choose_recipe(data)


def test_one_folder_per_label(tmp_path: Path) -> None:
    texts = draw_texts(6, 0)  # so few that the labels of a table would not be clear
    assert choose_recipe(write_label_folders(tmp_path / "a", train=texts, test=texts)) == (
        "classifier"
    )
    assert choose_recipe(f"{tmp_path}/a/train") == "classifier"


def test_labelled_json_and_trees(tmp_path: Path) -> None:
    lines = [json.dumps({"text": text, "label": label}) for label, text in draw_texts(60, 0)]
    assert choose_recipe(write(tmp_path / "x.jsonl", "\n".join(lines))) == "classifier"
    assert choose_recipe(write(tmp_path / "trees.txt", TREES)) == "classifier"


def test_pairs(tmp_path: Path) -> None:
    assert choose_recipe(str(write_parallel(tmp_path / "data"))) == "translator"
    pairs = [f"{number} {a}\t{number} {b}\n" for number, (a, b) in enumerate(draw_pairs(60, 0))]
    assert choose_recipe(write(tmp_path / "x.tsv", "".join(pairs))) == "translator"


def test_questions_on_passages(tmp_path: Path) -> None:
    assert choose_recipe(write(tmp_path / "x.json", json.dumps(SQUAD))) == "answerer"


def test_built_in_corpora() -> None:
    assert choose_recipe("grammar") == "small"
    assert choose_recipe("reverse:lines=200") == "reverse"


def test_what_is_not_clear_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not in the format of SQuAD.*name a recipe"):
        choose_recipe(write(tmp_path / "x.json", '{"data":\n [1, 2]}'))
    rows = "".join(f"{n}\tone {n}\ttwo {n}\tthree {n}\n" for n in range(20))
    with pytest.raises(InputError, match="cannot choose a recipe for this table; name a recipe"):
        choose_recipe(write(tmp_path / "x.tsv", rows))
