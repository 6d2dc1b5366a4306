"""`elman.LanguageModel`: fit on texts or a corpus, then measure, suggest, generate."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elman
from elman.errors import InputError
from elman.text.reader import Document


def lines(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    nouns, verbs = ("cat", "dog", "bird"), ("sees", "hears", "likes")
    return [
        f"the {nouns[a]} {verbs[b]} a {nouns[c]} ." for a, b, c in random.integers(0, 3, (count, 3))
    ]


@pytest.fixture(scope="module")
def model() -> elman.LanguageModel:
    return elman.LanguageModel(model__order=3).fit(lines(200, 0))


def test_it_learns_and_answers(model: elman.LanguageModel) -> None:
    unseen = lines(30, 1)
    # Three free choices of three in seven tokens: at best 27 ** (1 / 7) = 1.60.
    assert 1.6 < model.perplexity(unseen) < 1.8
    assert model.score(unseen) == pytest.approx(-math.log(model.perplexity(unseen)))
    assert model.measure(unseen).tokens == 7 * 30
    assert {one.token for one in model.suggest("the", top=3)} == {"cat", "dog", "bird"}
    assert len(model.surprisal(unseen[0])) == 6  # no line end
    assert model.generate("the cat", max_tokens=3, seed=1)[0].text.startswith("the cat")


def test_a_list_is_one_text_line_by_line(model: elman.LanguageModel) -> None:
    one, other = lines(2, 2)
    whole = model.perplexity(f"{one}\n{other}\n")
    assert model.perplexity([one, other]) == whole
    assert model.perplexity([f"{one}\n", f"{other}\n"]) == whole
    assert model.perplexity([f"{one}\n{other}"]) == whole


def test_the_last_tenth_is_for_validation() -> None:
    trained = elman.LanguageModel().fit(lines(50, 0)).trained_
    data = trained.facts["data"]
    assert (data["lines"], data["tokens"], data["valid_tokens"]) == (45, 45 * 7, 5 * 7)
    first = "".join(f"{line}\n" for line in lines(50, 0)[:45])
    assert trained.trained_on(Document("the first lines", first))


def test_validation_may_be_given_or_left_out() -> None:
    given = elman.LanguageModel().fit(lines(50, 0), validation=lines(7, 1)).trained_.facts
    assert (given["data"]["lines"], given["validation"]["tokens"]) == (50, 7 * 7)
    without = elman.LanguageModel().fit(lines(50, 0), validation=[]).trained_.facts
    assert (without["data"]["lines"], without["validation"]) == (50, None)


def test_a_corpus_trains_the_model_of_elman_train(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(lines(200, 0)))
    for corpus in ("grammar", tmp_path / "text.txt"):
        fitted = elman.LanguageModel().fit(corpus)
        trained: Any = elman.train("ngram", data=str(corpus))
        text = "the cat sees a dog .\n"
        assert fitted.perplexity(text) == trained.perplexity(text)


def test_a_network_learns_from_texts() -> None:
    network = elman.LanguageModel(
        "small", seed=1, threads=1, training__epochs=8, model__hidden_size=16,
        model__embedding_size=16, training__batch_size=4, training__window=10,
    )  # fmt: skip
    network.fit(lines(200, 0))
    assert network.trained_.facts["validation"]["perplexity"] < 4  # of 13 words, if guessed evenly
    assert network.perplexity(lines(30, 1)) < 4


def test_it_is_saved_and_loaded(model: elman.LanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    text = lines(3, 3)
    again = elman.LanguageModel.load(tmp_path / "run")
    assert again.perplexity(text) == model.perplexity(text)
    assert elman.load(tmp_path / "run", elman.TrainedModel).suggest("the") == model.suggest("the")
    with pytest.raises(InputError, match="exists already"):
        model.save(tmp_path / "run")
    with pytest.raises(InputError, match="is an ngram, not a tagger"):
        elman.Tagger.load(tmp_path / "run")


def test_what_is_wrong_is_said(model: elman.LanguageModel) -> None:
    fresh: Any = elman.LanguageModel()
    with pytest.raises(InputError, match="this LanguageModel is not trained yet; call fit first"):
        fresh.perplexity("the cat")
    with pytest.raises(InputError, match="recipe tagger: is a tagger, not a language model"):
        elman.LanguageModel("tagger").fit(lines(9, 0))
    for texts in ([], [""], ["\n", " "]):
        with pytest.raises(InputError, match="X contains no text; give some"):
            fresh.fit(texts)
    with pytest.raises(InputError, match=r"X\[1\] is of type list, not a text"):
        fresh.fit(["the cat", ["the", "dog"]])
    with pytest.raises(InputError, match=r"put texts into a list: fit\(\[text\]\)"):
        fresh.fit("the cat\nthe dog\n")
    with pytest.raises(
        InputError, match=r"no such file or folder; if this is a text, put .*fit\(\[text\]\)"
    ):
        fresh.fit("the cat sees a dog .")
    with pytest.raises(InputError, match="grammar: a corpus has its own validation text"):
        fresh.fit("grammar", validation=lines(3, 0))
    with pytest.raises(InputError, match=r"validation is a single text; put it into a list"):
        fresh.fit(lines(9, 0), validation="the cat")
    with pytest.raises(InputError, match="learns from texts alone; leave out y"):
        fresh.fit(lines(9, 0), ["a label"] * 9)
    with pytest.raises(InputError, match="choose 'stream'"):
        model.perplexity("the cat", reset="never")


def test_counting_texts_needs_no_torch() -> None:
    code = (
        "import sys, elman\n"
        "model = elman.LanguageModel().fit(['the cat sees a dog .'] * 50)\n"
        "assert model.trained_.facts['validation']['perplexity'] < 1.1\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scikit_learn_can_search_over_it() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    search = selection.GridSearchCV(
        elman.LanguageModel(), {"model__order": [1, 3]}, cv=selection.KFold(2)
    )
    search.fit(lines(100, 0))
    assert search.best_params_ == {"model__order": 3}
    assert search.best_estimator_.perplexity(lines(9, 1)) < 2
