"""Training: corpus, tokenizer, model, facts, run folder."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import elman
from elman.errors import InputError
from elman.tasks.task import train
from elman.text.reader import Document

LINES = ["the cat sees the dog .", "a dog sees", "", "the dog runs ."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    for split, times in {"train": 30, "valid": 5, "test": 5}.items():
        (data / f"{split}.txt").write_text("\n".join(LINES * times) + "\n")
    return data


def test_the_facts_say_what_was_read(folder: Path) -> None:
    trained = train("ngram", data=str(folder), overrides=["model.order=3"])
    facts = trained.facts
    assert facts["data"]["name"] == str(folder)
    assert facts["data"]["lines"] == 120
    assert facts["data"]["empty_lines"] == 30
    assert facts["data"]["tokens"] == 30 * (6 + 3 + 0 + 4 + 4)  # words, and four line ends
    assert facts["data"]["unknown_tokens"] == 0
    assert len(facts["data"]["sha256"]) == 3
    assert facts["model"]["vocabulary_size"] == 9  # the cat sees dog a runs . <eos> <unk>
    assert len(facts["model"]["ngrams"]) == 3
    json.dumps(facts, allow_nan=False)


def test_validation_is_what_evaluate_measures(folder: Path) -> None:
    trained = train("ngram", data=str(folder))
    measured = trained.evaluate(str(folder), split="valid")
    assert trained.facts["validation"]["perplexity"] == pytest.approx(measured.perplexity)
    assert trained.facts["validation"]["tokens"] == measured.tokens


def test_without_validation_text_nothing_is_validated(folder: Path) -> None:
    (folder / "valid.txt").unlink()
    assert train("ngram", data=str(folder)).facts["validation"] is None


def test_an_infinite_perplexity_is_null(folder: Path) -> None:
    (folder / "valid.txt").write_text("dog the\n")
    trained = train(
        "ngram", data=str(folder), overrides=["model.order=2", "model.smoothing=maximum-likelihood"]
    )
    assert trained.facts["validation"]["perplexity"] is None
    assert trained.evaluate(str(folder), split="valid").perplexity == math.inf


def test_the_same_training_twice_is_the_same_model(folder: Path) -> None:
    text = "the dog sees a cat .\n"
    first, second = (train("ngram", data=str(folder)).perplexity(text) for _ in range(2))
    assert first == second


def test_the_guessed_tokenizer_is_written_down(folder: Path) -> None:
    assert train("ngram", data=str(folder)).config.text.tokenizer == "words"
    (folder / "train.txt").write_text("Raw text, as it is. Is it?\n" * 50)
    assert train("ngram", data=str(folder)).config.text.tokenizer == "raw-words"


def test_the_stages_are_told(folder: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    train("ngram", data=str(folder), out=tmp_path / "run", progress=stages.append)
    assert stages[:2] == ["reading", "tokenizing"]
    assert stages[-2:] == ["validating", "saving"]
    assert "smoothing order 5" in stages


def test_a_run_is_not_overwritten_unless_asked(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train("ngram", data=str(folder), out=run)
    before = (run / "manifest.json").read_bytes()
    told: list[str] = []
    with pytest.raises(InputError, match="exists already"):
        train("laplace", data=str(folder), out=run, progress=told.append)
    assert told == []  # refused before the work
    assert (run / "manifest.json").read_bytes() == before
    train("laplace", data=str(folder), out=run, overwrite=True)
    assert elman.load(run).config.recipe == "laplace"


def test_texts_in_place_of_a_path_are_refused(folder: Path) -> None:
    texts: Any = ["a line", "another"]
    for function in (elman.train, elman.plan):
        with pytest.raises(InputError, match=r"type list, not a path; .* elman.LanguageModel"):
            function("ngram", data=texts)
    path: Any = folder
    assert elman.train("ngram", data=path).facts["data"]["lines"] == 120


def test_data_and_counts_are_alternatives(folder: Path) -> None:
    with pytest.raises(InputError, match="data is missing; give a file, a folder or"):
        train("ngram")
    with pytest.raises(InputError, match="give either data or counts, not both"):
        train("ngram", data=str(folder), counts=["counts"])


def test_a_recipe_may_be_a_file(folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text('about = "mine"\n[model]\nkind = "ngram"\norder = 2\n')
    trained = train(str(recipe), data=str(folder), overrides=["text.lowercase=true"], seed=7)
    assert trained.config.model.order == 2
    assert trained.config.text.lowercase is True
    assert trained.config.seed == 7


@pytest.mark.parametrize(
    ("recipe", "overrides", "message"),
    [
        ("ngarm", [], "unknown recipe 'ngarm'; did you mean 'ngram'"),
        ("ngram", ["model.ordr=3"], "unknown setting model.ordr; did you mean 'order'"),
        ("ngram", ["model.kind=transformer"], "unknown model 'transformer'"),
        ("ngram", ["text.tokenizer=wrds"], "unknown tokenizer 'wrds'; did you mean"),
        ("ngram", ["modle.order=3"], "unknown section 'modle'"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    folder: Path, recipe: str, overrides: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train(recipe, data=str(folder), overrides=overrides)


@pytest.mark.parametrize(
    ("text", "empty"),
    [("", 0), ("a\n", 0), ("\n", 1), ("\n\n", 2), ("a\n\nb\n\n\n", 3), ("\na", 1)],
)
def test_empty_lines_are_counted(text: str, empty: int) -> None:
    assert Document("text", text).empty_lines == empty
