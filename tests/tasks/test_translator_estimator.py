"""`elman.Translator`: fit on sources and targets, predict, BLEU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import RECIPE, draw_pairs

import elman
from elman.errors import InputError


def lists(count: int, seed: int) -> tuple[list[str], list[str]]:
    sources, targets = zip(*draw_pairs(count, seed), strict=True)
    return [*sources], [*targets]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> elman.Translator:
    recipe = tmp_path_factory.mktemp("recipe") / "small.toml"
    recipe.write_text(RECIPE)
    return elman.Translator(
        str(recipe), threads=1, training__epochs=25, model__hidden_size=24, model__embedding_size=16
    )


@pytest.fixture(scope="module")
def fitted(translator: elman.Translator) -> elman.Translator:
    return translator.fit(*lists(150, 0))


def test_it_learns_and_answers(fitted: elman.Translator, tmp_path: Path) -> None:
    assert fitted.trained_.facts["data"]["examples"] == 135  # a tenth is held out
    sources, targets = lists(20, 9)
    measured = fitted.measure(sources, targets)
    assert fitted.score(sources, targets) == measured.whole.bleu > 20
    assert "tok:none" in measured.signatures["bleu"]
    outputs = fitted.predict(["", *sources]).tolist()
    assert outputs[0] == ""
    assert outputs[1:] == fitted.trained_.translate(sources)
    fitted.save(tmp_path / "run")
    assert elman.Translator.load(tmp_path / "run").predict(sources).tolist() == outputs[1:]


def test_vectors_are_sources_too() -> None:
    random = np.random.default_rng(0)
    vectors = [random.standard_normal((1, 4)).astype(np.float32) for _ in range(20)]
    texts = ["a dog ." if vector[0, 0] > 0 else "a cat ." for vector in vectors]
    captioner = elman.Translator("captioner", threads=1, training__epochs=0.5)
    captioner.fit(vectors, texts)
    assert len(captioner.predict(vectors[:3])) == 3


def test_what_is_wrong_is_said(fitted: elman.Translator) -> None:
    fresh: Any = elman.Translator()
    with pytest.raises(InputError, match="this Translator is not trained yet; call fit first"):
        fresh.predict(["a"])
    with pytest.raises(InputError, match="recipe ngram: is an ngram, not an encoder–decoder"):
        elman.Translator("ngram").fit(["a"], ["b"])
    with pytest.raises(InputError, match="2 sources and 1 target; give one target for each source"):
        fresh.fit(["a", "b"], ["c"])
    with pytest.raises(InputError, match=r"X\[1\] is an empty text; leave out the pair"):
        fresh.fit(["a", " "], ["c", "d"])
    with pytest.raises(InputError, match=r"y\[0\] is an empty text"):
        fitted.score(["a"], [""])
    with pytest.raises(InputError, match=r"X\[0\] has a line break; give one line per text"):
        fresh.fit(["a\nb"], ["c"])
    with pytest.raises(InputError, match=r"y\[0\] is of type int, not a text"):
        fresh.fit(["a"], [1])


def test_scikit_learn_can_clone_it(translator: elman.Translator) -> None:
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(translator)
    assert copy.get_params() == translator.get_params()
    assert not hasattr(copy, "trained_")
