"""Attention from tokens to words, and as an alignment; by hand."""

import numpy as np
import pytest

from elman.evaluation.attention_map import AttentionMap, map_words, starts_of, words_of
from elman.text.characters import Bytes, Characters
from elman.text.subwords import BytePairs
from elman.text.tokenizer import TextConfig, Tokenizer
from elman.text.words import Words


def test_links_and_their_format() -> None:
    one = AttentionMap(("a", "b", "c"), ("x", "y"), np.array([[0.2, 0.1, 0.7], [0.5, 0.3, 0.2]]))
    assert one.links == [(2, 0), (0, 1)]
    assert one.pharaoh == "0-1 2-0"  # in the order of the source
    data = one.to_data()
    assert data["source"] == ["a", "b", "c"]
    assert data["weights"][0] == [0.2, 0.1, 0.7]


def test_ends_have_no_links() -> None:
    weights = np.array([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]])
    ended = AttentionMap(("a", "<eos>"), ("x", "y", "<eos>"), weights)
    assert ended.links == [(0, 1)]  # x looked at the end
    cut_off = AttentionMap(("a", "<eos>"), ("x", "y", "z"), weights)
    assert cut_off.pharaoh == "0-1 0-2"


def test_nothing_is_linked_to_nothing() -> None:
    assert AttentionMap((), ("x",), np.zeros((1, 0))).pharaoh == ""
    assert AttentionMap(("a",), (), np.zeros((0, 1))).pharaoh == ""


def test_tokens_become_words() -> None:
    # Source: "ab" of two tokens, "c" of one. Target: "x" of one token, "yz" of two.
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    one = map_words((["ab", "c"], [0, 0, 1]), (["x", "yz"], [0, 1, 1]), weights)
    # x: .1 + .2 and .7; yz: the mean of (1, 0) and (.2, .8)
    np.testing.assert_allclose(one.weights, [[0.3, 0.7], [0.6, 0.4]])
    assert (one.source, one.target) == (("ab", "c"), ("x", "yz"))


def test_a_space_belongs_to_the_word_after_it() -> None:
    text = " ab  cd "
    words, numbers = words_of(text, range(len(text)))
    assert words == ["ab", "cd"]
    assert numbers == [0, 0, 0, 1, 1, 1, 1, 1]  # the last one has no word after it
    assert words_of("", []) == ([], [])
    assert words_of("  ", [0, 1]) == (["  "], [0, 0])


@pytest.mark.parametrize("kind", [Words, Characters, Bytes, BytePairs])
def test_every_tokenizer_finds_the_words_again(kind: type[Tokenizer]) -> None:
    text = "Ein Vogel größer als fünf Türme ü"
    tokenizer = kind.train(f"{text}\n{text}\n", TextConfig())
    ids = tokenizer.encode(text).tolist()
    pieces = [tokenizer.decode(ids[: end + 1]) for end in range(len(ids))]
    words, numbers = words_of(pieces[-1], starts_of(pieces))
    assert words == text.split()
    assert numbers == sorted(numbers)
    assert {*numbers} == {*range(7)}
    for place, number in enumerate(numbers):  # each word is made of its own tokens
        if place + 1 == len(numbers) or numbers[place + 1] != number:
            assert pieces[place].split() == words[: number + 1]
