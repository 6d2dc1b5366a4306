"""Attention maps of translations, and ensembles of runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import draw_pairs, train_translator, write_captions, write_parallel

from elman.errors import InputError
from elman.tasks.translation.attention import attention_maps
from elman.tasks.translation.trained import mix_translators

pytestmark = pytest.mark.usefixtures("without_curves")

SOURCES = [source for source, _ in draw_pairs(8, 9)]
FEW = "training.epochs=0.3"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("attending")
    write_parallel(place / "data")
    write_captions(place / "captions")
    return place


def train(place: Path, *settings: str, **options: Any) -> Any:
    return train_translator(place / "data", None, FEW, *settings, **options)


@pytest.mark.parametrize("attend", ["before", "after"])
def test_maps_of_words(place: Path, attend: str) -> None:
    trained = train(place, f"model.attend={attend}")
    given = [*SOURCES, "", "xyzzy  the dog"]
    found = trained.search(given, beam=2)
    ids = [texts[0].ids if texts else () for texts in found]
    maps = attention_maps(trained, given, ids)
    for source, texts, one in zip(given, found, maps, strict=True):
        if not texts:
            assert (one.source, one.target, one.pharaoh) == ((), (), "")
            continue
        assert one.source == (*source.split(), "<eos>")
        assert [word for word in one.target if word != "<eos>"] == texts[0].text.split()
        np.testing.assert_allclose(one.weights.sum(1), 1, atol=1e-5)
    alone = attention_maps(trained, given[:1], ids[:1])[0]
    np.testing.assert_allclose(alone.weights, maps[0].weights, atol=1e-5)


def test_the_maps_are_the_models_own(place: Path) -> None:
    trained = train(place)
    target = trained.task.target
    ids = [*target.encode(["der Hund sieht"])[0], target.tokenizer.eos_id]
    (one,) = attention_maps(trained, ["the cat"], [ids])
    (given,) = trained.alignments([("the cat", "der Hund sieht")])
    np.testing.assert_allclose(one.weights, given.weights, atol=1e-6)


def test_sub_words_come_back_as_words(place: Path) -> None:
    trained = train(place, "text.tokenizer=characters")
    (texts,) = trained.search(["the dog sees"], beam=1)
    (one,) = attention_maps(trained, ["the dog sees"], [texts[0].ids])
    assert one.source == ("the", "dog", "sees", "<eos>")
    written = " ".join(word for word in one.target if word != "<eos>")
    assert written.split() == texts[0].text.split()
    assert one.weights.shape == (len(one.target), 4)


def test_vectors_are_numbered(place: Path) -> None:
    sides = ("text.source=npz", "text.target=txt", FEW)
    captioner = train_translator(place / "captions", None, *sides)
    grids = [np.ones((3, 2)), np.zeros((2, 2))]
    found = captioner.search(grids, beam=1)
    maps = attention_maps(captioner, grids, [texts[0].ids for texts in found])
    assert [one.source for one in maps] == [("1", "2", "3"), ("1", "2")]


def test_without_attention_there_is_no_map(place: Path) -> None:
    blind = train(place, "model.attention=none")
    with pytest.raises(InputError, match="was trained without attention"):
        attention_maps(blind, SOURCES[:1], [(1,)])
    with pytest.raises(InputError, match="has no attention"):
        blind.translate(SOURCES[:1], coverage_penalty=0.2)


def test_runs_decide_together(place: Path) -> None:
    first, second = (train(place, seed=seed) for seed in (1, 2))
    pairs = draw_pairs(4, 3)
    expected = np.logaddexp(  # of a target of one word, whose probability is a product of two
        *(np.array(each.score([("the dog", "")])) for each in (first, second))
    ) - np.log(2)
    apart = first.translate(SOURCES, beam=3)
    first = mix_translators([first, second])
    assert first.score([("the dog", "")]) == pytest.approx(expected, abs=1e-5)
    assert first.score(pairs) != pytest.approx(second.score(pairs), abs=1e-3)
    together = first.translate(SOURCES, beam=3, coverage_penalty=0.1)
    assert len(together) == len(apart)
    assert first.translate(SOURCES, beam=3, batch_size=1) == first.translate(SOURCES, beam=3)
    maps = attention_maps(first, SOURCES, [t[0].ids for t in first.search(SOURCES, beam=1)])
    assert all(np.allclose(one.weights.sum(1), 1, atol=1e-5) for one in maps)


def test_only_the_same_vocabularies_are_mixed(place: Path) -> None:
    words, letters = train(place), train(place, "text.target_tokenizer=characters")
    with pytest.raises(InputError, match="different target vocabularies"):
        mix_translators([words, letters])
