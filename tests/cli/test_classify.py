"""`elman classify`: labels and probabilities, contributions, pairs, and bad input."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import elman

SMALL = ("model.hidden_size=6", "model.embedding_size=8", "training.epochs=8")
QUICK = (*SMALL, "training.batch_size=4", "training.learning_rate=0.02")
LABELLED = "good\ta fine film .\nbad\ta dull film .\ngood\ta warm story .\nbad\ta cold story .\n"
PAIRS = "a fine film .\ta warm film .\tsame\na fine film .\ta dull film .\tother\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, without_curves: None) -> Path:
    """A place with a run of texts and one of pairs."""
    place = tmp_path_factory.mktemp("runs")
    for name, text in (("films", "label\ttext\n" + LABELLED * 8), ("pairs", PAIRS * 12)):
        (place / name).mkdir()
        for split in ("train", "dev", "test"):
            (place / name / f"{split}.tsv").write_text(text)
        data = str(place / name)
        elman.train("classifier", data=data, out=place / f"run-{name}", overrides=QUICK)
    return place


def rows(output: str) -> list[list[str]]:
    return [line.split("\t") for line in output.splitlines()]


def test_a_text(says: Any, runs: Path) -> None:
    header, (label, probability, text) = rows(
        says("classify", f"{runs}/run-films", "--text", "dull")
    )
    assert header == ["label", "probability", "text"]
    assert (label, text) == ("bad", "dull")
    assert 0.5 < float(probability) <= 1


def test_the_reliability_of_probabilities(call: Any, runs: Path, tmp_path: Path) -> None:
    asked = ("evaluate", f"{runs}/run-films", "--data", f"{runs}/films", "--reliability")
    result = call(*asked, str(tmp_path / "picture.png"))
    assert result.code == 0
    assert "calibration error" in result.out
    assert "expected calibration error, 15 bins" in result.out
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    refused = call(*asked, str(tmp_path / "picture.pdf"))
    assert refused.code == 2
    assert "must end in .png or .svg" in refused.err


def test_a_file_with_all_labels(says: Any, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("a fine film .\na dull film .\n")
    header, first, second = rows(says("classify", f"{runs}/run-films", str(file), "--all"))
    assert header == ["label", "bad", "good", "text"]
    assert (first[0], second[0]) == ("good", "bad")
    assert float(first[1]) + float(first[2]) == pytest.approx(1, abs=2e-4)
    assert float(first[2]) > 0.5


def test_standard_input_as_json(says: Any, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"a fine film .\n"))
    monkeypatch.setattr(sys, "stdin", given)
    (found,) = json.loads(says("classify", f"{runs}/run-films", "-", "--json"))["results"]
    assert found["text"] == "a fine film ."
    assert found["label"] == "good"
    assert found["probability"] == found["probabilities"]["good"]


def test_what_the_words_contribute(says: Any, runs: Path) -> None:
    run = f"{runs}/run-films"
    asked = ("classify", run, "--text", "a dull film .", "--explain", "--json")
    (found,) = json.loads(says(*asked))["results"]
    expected = elman.load(run).explain("a dull film .")
    assert found["words"] == [vars(word) for word in expected]
    shown = says("classify", run, "--text", "a dull film .", "--explain")
    assert shown.startswith(f"bad ({found['probability']:.4f})")
    for word in expected:
        assert f"{word.contribution:+.4f}" in shown
    assert "–" in says("classify", run, "--text", "dull", "--explain")


def test_pairs_have_a_tab(says: Any, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text("a fine film .\ta dull film .\n")
    _, row = rows(says("classify", f"{runs}/run-pairs", str(file)))
    assert row[0] == "other"
    assert row[2:] == ["a fine film .", "a dull film ."]
    shown = says("classify", f"{runs}/run-pairs", str(file), "--explain")
    assert len([line for line in shown.splitlines() if line.split()[:1] == ["2"]]) == 4


def test_evaluate_shows_the_measures_and_notes_unseen_labels(
    call: Any, runs: Path, tmp_path: Path
) -> None:
    (tmp_path / "test.tsv").write_text(LABELLED_WITH_ODD)
    result = call("evaluate", f"{runs}/run-films", "--data", str(tmp_path / "test.tsv"))
    assert result.code == 0
    assert "note: 1 text with a label not seen in training (odd): always wrong" in result.err
    assert {"accuracy", "macro", "precision"} <= set(result.out.split())
    run = f"{runs}/run-films"
    found = json.loads(call("evaluate", run, "--data", str(tmp_path / "test.tsv"), "--json").out)
    assert found["accuracy"] == 0.8
    assert found["unseen"] == {"odd": 1}


LABELLED_WITH_ODD = "label\ttext\n" + LABELLED + "odd\ta film .\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--text", "a", "--all", "--explain"), "--all and --explain print different tables"),
        (("--text", ""), "--text is empty"),
        (("--text", " "), "there is no text to classify; give some text"),
        ((), "give either a file or --text"),
        (("nowhere.txt",), "nowhere.txt: no such file"),
        (("--text", "a", "--batch-size", "0"), "--batch-size is 0; give at least 1"),
        (("--text", "a\tb"), "example 1 has 2 texts; this classifier labels a text"),
    ],
)
def test_bad_input_is_one_line(
    call: Any, runs: Path, arguments: tuple[str, ...], problem: str
) -> None:
    result = call("classify", f"{runs}/run-films", *arguments)
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert problem in result.err


def test_a_language_model_is_no_classifier(call: Any) -> None:
    result = call("classify", "words", "--text", "a")
    assert result.code == 2
    assert "words: a run of the model 'ngram' does not support elman classify" in result.err


def test_an_empty_line_stays_a_line_without_a_label(call: Any, runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("a fine film .\n\na dull film .\n")
    result = call("classify", f"{runs}/run-films", str(file))
    assert result.code == 0
    _, first, second, third = rows(result.out)
    assert (first[0], second, third[0]) == ("good", ["", "", ""], "bad")
    assert result.err == "note: 1 of 3 texts are empty and get no label\n"
    found = json.loads(call("classify", f"{runs}/run-films", str(file), "--json").out)["results"]
    assert found[1] == {"text": "", "label": None, "probability": None, "probabilities": {}}
    assert "(empty)" in call("classify", f"{runs}/run-films", str(file), "--explain").out
    file.write_text("\na fine film .\ta dull film .\n")
    _, first, second = rows(call("classify", f"{runs}/run-pairs", str(file)).out)
    assert {*first} == {""}
    assert second[0] in ("same", "other")


def test_texts_come_from_the_column_of_a_table(call: Any, runs: Path, tmp_path: Path) -> None:
    run, file = f"{runs}/run-films", tmp_path / "texts.csv"
    file.write_text('id,utterance,intent\n1,"a fine, fine film .",good\n2,a dull film .,bad\n')
    result = call("classify", run, str(file), "--columns", "text=utterance")
    assert [row[2:] for row in rows(result.out)[1:]] == [["a fine, fine film ."], ["a dull film ."]]
    wrong = call("classify", run, str(file), "--columns", "text=words")
    assert wrong.code == 2
    assert "has no column 'words'; it has id, utterance, intent" in wrong.err


def test_columns_of_evaluated_tables_may_be_named(call: Any, runs: Path, tmp_path: Path) -> None:
    run, file = f"{runs}/run-films", tmp_path / "test.csv"
    file.write_text("id,words,mood,year\n1,a fine film .,good,1999\n2,a dull film .,bad,2000\n")
    given = ("evaluate", run, "--data", str(file), "--columns", "text=words,label=mood")
    result = call(*given)
    assert result.code == 0
    assert "4 columns, text = words, label = mood, 2 labels" in result.err
    assert call("evaluate", run, "--data", str(file)).code == 2
    refused = call("evaluate", "words", "--data", str(file), "--columns", "text=wrods")
    assert refused.code == 2
    assert "has no column 'wrods'; it has id, words, mood, year" in refused.err
