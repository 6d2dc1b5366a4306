"""`elman tag`, and `elman evaluate` of a tagger; what they refuse."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tagged import train_tagger, write_tagged

import elman


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tagged text, a tagger and a count model."""
    place = tmp_path_factory.mktemp("tags")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        train_tagger(write_tagged(place / "data"), place / "ner")
    elman.train("ngram", data="grammar", out=place / "words")
    (place / "lines.txt").write_text("Ann sees in Bob .\n\nBob Annson hears .\n")
    return place


def test_lines_come_out_in_columns(says: Any) -> None:
    assert says("tag", "ner", "lines.txt") == (
        "Ann\tB-PER\nsees\tO\nin\tO\nBob\tB-LOC\n.\tO\n\n"
        "\n"
        "Bob\tB-PER\nAnnson\tI-PER\nhears\tO\n.\tO\n\n"
    )
    assert says("tag", "ner", "--text", "Ann sees", "--batch-size", "1") == (
        "Ann\tB-PER\nsees\tO\n\n"
    )


def test_standard_input(says: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = SimpleNamespace(buffer=io.BytesIO(b"Ann sees .\n"))
    monkeypatch.setattr("sys.stdin", piped)
    assert says("tag", "ner", "-").startswith("Ann\tB-PER\n")


def test_json_has_words_tags_and_spans(gives: Any) -> None:
    first, empty, second = gives("tag", "ner", "lines.txt")["sentences"]
    assert first["words"] == ["Ann", "sees", "in", "Bob", "."]
    assert first["tags"] == ["B-PER", "O", "O", "B-LOC", "O"]
    assert empty == {"words": [], "tags": [], "spans": []}
    assert second["spans"] == [{"kind": "PER", "start": 0, "end": 2, "text": "Bob Annson"}]


def test_files_in_columns_keep_theirs(says: Any, place: Path) -> None:
    lines = says("tag", "ner", "data/test.txt", "--columns").splitlines()
    old = (place / "data" / "test.txt").read_text().splitlines()
    assert len(lines) == len(old)
    assert all(new.startswith(line) for new, line in zip(lines, old, strict=True))
    rows = [line.split() for line in lines if line]
    assert {len(row) for row in rows} == {3}
    assert [row[1] for row in rows] == [row[2] for row in rows]  # it has learned them


def test_probabilities_follow_the_tags(says: Any, gives: Any) -> None:
    rows = [
        line.split("\t") for line in says("tag", "ner", "lines.txt", "--probabilities").split("\n")
    ]
    sentences = gives("tag", "ner", "lines.txt", "--probabilities")["sentences"]
    first = sentences[0]
    for row, word, tag, shares in zip(
        rows, first["words"], first["tags"], first["probabilities"], strict=False
    ):
        assert row == [word, tag, f"{shares[tag]:.4f}"]
        assert sum(shares.values()) == pytest.approx(1, abs=1e-9)
        assert [*shares.values()] == sorted(shares.values(), reverse=True)
    assert sentences[1]["probabilities"] == []
    assert "probabilities" not in gives("tag", "ner", "lines.txt")["sentences"][0]


def test_probabilities_in_files_with_columns(says: Any, place: Path) -> None:
    lines = says("tag", "ner", "data/test.txt", "--columns", "--probabilities").splitlines()
    rows = [line.split() for line in lines if line]
    assert {len(row) for row in rows} == {4}
    assert all(0 < float(row[3]) <= 1 for row in rows)
    (place / "one.conllu").write_text(
        "1\tAnn\tAnn\tX\t_\t_\t0\troot\t_\t_\n"
        "2\tsees\tsee\tX\t_\t_\t1\tdep\t_\tSpaceAfter=No|TagProbability=0.1\n\n"
    )
    first, second, _ = says("tag", "ner", "one.conllu", "--columns", "--probabilities").split(
        "\n", 2
    )
    assert re.search(r"\tB-PER\t.*\t_\tTagProbability=[01]\.\d{4}$", first)
    assert re.search(r"\tSpaceAfter=No\|TagProbability=0\.[2-9]\d{3}$", second)


def test_bioes_is_summed_to_bio(place: Path) -> None:
    trained = train_tagger(place / "data", None, "text.scheme=bioes")
    (found,) = trained.probabilities([["Ann", "Bobson", "sees"]])
    assert set(found[0]) == {"O", "B-PER", "I-PER", "B-LOC"}
    scored = trained._score([["Ann", "Bobson", "sees"]])
    learned = np.exp(scored.log_marginals(1.0)[0][0])
    by_tag = dict(zip(trained.task.tags, learned.tolist(), strict=True))
    assert found[0]["B-PER"] == pytest.approx(by_tag["B-PER"] + by_tag["S-PER"])


def test_a_file_in_columns_taken_for_lines_is_noted(call: Any) -> None:
    result = call("tag", "ner", "data/test.txt")
    assert result.code == 0
    assert result.err == (
        "note: data/test.txt: looks like a file in columns; tag it as one with --columns\n"
    )
    assert call("tag", "ner", "lines.txt").err == ""


def test_features_come_from_the_columns(call: Any, says: Any, place: Path) -> None:
    text = re.sub(r"(?m)^(\S+) (\S+)$", r"\1 \2 \2", (place / "data" / "test.txt").read_text())
    (place / "three.txt").write_text(text)
    train_tagger(place / "three.txt", place / "featured", "text.features=2")
    rows = [line.split() for line in says("tag", "featured", "three.txt", "--columns").splitlines()]
    assert all(len(row) == 4 and row[2] == row[3] for row in rows if row)
    result = call("tag", "featured", "lines.txt")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "elman: featured: this tagger was trained with further columns (text.features=2); "
        "give a file with these columns and --columns\n"
    )


def test_evaluate_prints_the_measures_of_the_task(says: Any, gives: Any) -> None:
    shown = says("evaluate", "ner", "--data", "data")
    for measure in ("F1", "precision", "recall", "accuracy of unknown words", "macro F1", "LOC"):
        assert measure in shown
    assert "of all mistakes" not in shown
    found = gives("evaluate", "ner", "--data", "data")
    assert found["accuracy"] == found["entities"]["f1"] == 1.0
    assert found["confusion"]["B-LOC"] == {"B-LOC": found["labels"]["B-LOC"]["count"]}
    assert set(found["entities"]["kinds"]) == {"LOC", "PER"}


def test_evaluate_shows_what_was_taken_for_what(call: Any, place: Path) -> None:
    (place / "odd.txt").write_text("Ann B-ORG\nsees O\n. O\n\nBob B-ORG\nhears I-PER\n. O\n")
    result = call("evaluate", "ner", "--data", "odd.txt", "--confusion")
    assert result.code == 0
    assert result.err == "note: 2 words with tags not seen in training (B-ORG): always wrong\n"
    table = result.out.split("of all mistakes")[1].splitlines()
    assert table[2].split() == ["B-ORG", "B-PER", "2", "66.7%"]
    assert table[3].split() == ["I-PER", "O", "1", "33.3%"]


def test_evaluate_says_when_the_text_was_learned(call: Any) -> None:
    assert "trained on" in call("evaluate", "ner", "--data", "data", "--split", "train").err
    assert call("evaluate", "ner", "--data", "data", "--confusion").err == ("note: no confusions\n")


@pytest.mark.parametrize("option", ["--reset=line", "--with=cache", "--accuracy", "--window=9"])
def test_options_of_language_models_are_refused(call: Any, option: str) -> None:
    result = call("evaluate", "ner", "--data", "data", option)
    assert result.code == 2
    flag = option.partition("=")[0]
    assert result.err == f"elman: {flag} does not apply to ner, which is a tagger; leave it out\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "ner"],
        ["suggest", "ner", "a"],
        ["surprisal", "ner", "--text", "a"],
        ["explain", "ner", "--text", "a"],
        ["export", "ner", "x.arpa"],
    ],
)
def test_commands_of_language_models_say_what_it_is(call: Any, arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.code == 2
    said = (
        r"elman: ner: (is a tagger, not a language model|a run of the model 'tagger' does not "
        rf"support elman {arguments[0]}( without --to)?);.* tag.*\n"
    )
    assert re.fullmatch(said, result.err)


def test_runs_of_different_tasks_are_not_compared(call: Any) -> None:
    result = call("compare", "ner", "words", "--data", "grammar")
    said = "elman: ner is a tagger and words is a language model; compare runs of one task\n"
    assert (result.code, result.err) == (2, said)


BAD_TEXTS = {
    "has 1 column where the file began with 2": "Ann B-PER\nsees\n",
    "has one column": "Ann\nsees\n",
    "mixes BIO and BIOES": "Ann S-PER\n\nBob B-PER\nsees O\n",
    "tags use BIOES, the training data uses BIO": "Ann S-PER\nsees O\n",
    "'X' does not mark a span": "Ann B-PER\nsees O\n. X\n",
    "contains no text": "\n\n",
    "only _": "Ann _\nsees _\n",
}


@pytest.mark.parametrize("problem", BAD_TEXTS)
def test_bad_texts_are_refused_in_one_line(call: Any, place: Path, problem: str) -> None:
    (place / "bad.txt").write_text(BAD_TEXTS[problem])
    result = call("evaluate", "ner", "--data", "bad.txt")
    assert result.code == 2
    assert problem in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["words", "lines.txt"], "words: a run of the model 'ngram' does not support elman tag"),
        (["ner"], "give either a file or --text"),
        (["ner", "nowhere.txt"], "nowhere.txt: no such file"),
        (["ner", "lines.txt", "--batch-size", "0"], "--batch-size is 0; give at least 1"),
        (["ner", "--fast"], "unknown option --fast"),
    ],
)
def test_tag_refuses_in_one_line(call: Any, arguments: list[str], problem: str) -> None:
    result = call("tag", *arguments)
    assert result.code == 2
    assert problem in result.err
    assert result.err.count("\n") == 1


def test_confusion_of_a_language_model_is_refused(call: Any) -> None:
    result = call("evaluate", "words", "--data", "grammar", "--confusion")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "--confusion does not apply to words, which is a language model" in result.err
