"""Numbers for pieces of words."""

from __future__ import annotations

import torch

from elman.layers.hashing import affixes, character_ngrams, into_table, shapes
from elman.text.spelling import spell


def spelled(*words: str) -> torch.Tensor:
    found = torch.from_numpy(spell(words, 12)).long()
    return found[:, : int((found != 0).sum(1).max())]


def test_ngrams_are_alike_wherever_they_stand() -> None:
    numbers, real = character_ngrams(spelled("cat", "Cats", "scat"), 3)
    # ^ca cat at$  |  ^ca cat ats ts$  |  ^sc sca cat at$
    assert real.sum(1).tolist() == [3, 4, 4]
    cat, cats, scat = (row[there].tolist() for row, there in zip(numbers, real, strict=True))
    assert cat[:2] == cats[:2]  # small and capital letters are alike
    assert cat[1:] == scat[2:]
    assert len({*cat, *cats, *scat}) == 7


def test_a_word_without_room_for_an_ngram_has_none() -> None:
    numbers, real = character_ngrams(spelled("a"), 5)  # ^a$
    assert numbers.shape == (1, 0)
    assert not real.any()


def test_prefixes_and_suffixes() -> None:
    numbers, real = affixes(spelled("walking", "Talking", "in"), 3)
    walking, talking, short = numbers.tolist()  # prefix, suffix of 1, 2, 3 bytes
    assert real.tolist() == [[True] * 6, [True] * 6, [True] * 4 + [False] * 2]
    assert [walking[place] == talking[place] for place in range(6)] == [False, True] * 3
    assert short[0] != short[1]  # i- is not -i
    assert short[1] != walking[1]  # -n, -g
    same, _ = affixes(spelled("walking", "extraordinary"), 3)
    assert same[0].tolist() == walking  # whatever stands beside it


def test_shapes_tell_kinds_of_words_apart() -> None:
    words = ["cat", "Cat", "CAT", "3", "3rd", "B2", "x-ray", "."]
    numbers = shapes(spelled(*words)).tolist()
    assert len({*numbers}) == len(words)
    assert shapes(spelled("dog", "elephant")).unique().numel() == 1


def test_places_are_spread_over_the_table() -> None:
    places = into_table(torch.arange(100_000), 64)
    assert (places.min(), places.max()) == (0, 63)
    counts = torch.bincount(places, minlength=64).float()
    assert float(counts.min() / counts.mean()) > 0.8
