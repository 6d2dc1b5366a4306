"""One side of pairs: each line is one row with every tokenizer, and decodes to words."""

import json

import pytest

from elman.errors import InputError
from elman.tasks.translation.sides import Side
from elman.text import TOKENIZERS
from elman.text.tokenizer import TextConfig

LINES = ["ein Hund rennt.", "", "zwei Hunde rennen weit.", "ein Haus"] * 30


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_lines_come_back(tokenizer: str) -> None:
    side = Side.learn(LINES, TextConfig(tokenizer=tokenizer))
    rows = side.encode(LINES[:4])
    assert [len(row) > 0 for row in rows] == [True, False, True, True]
    assert all(side.tokenizer.eos_id not in row for row in rows)
    assert [side.decode(row) for row in rows] == LINES[:4]
    again = Side.from_data(json.loads(json.dumps(side.to_data())))
    assert [*map(list, again.encode(LINES))] == [*map(list, side.encode(LINES))]
    assert again.counts.tolist() == side.counts.tolist()
    assert side.counts.sum() == sum(map(len, side.encode(LINES))) + len(LINES)


def test_words_seen_once_are_unknown_so_that_these_are_learned() -> None:
    side = Side.learn(["a b", "a c", "b"], TextConfig(tokenizer="words"))
    assert side.tokenizer.tokens == ["<eos>", "<unk>", "a", "b"]
    assert side.counts.tolist() == [3, 1, 2, 2]
    every = Side.learn(["a b", "a c", "b"], TextConfig(tokenizer="words", min_count=1))
    assert "c" in every.tokenizer.tokens


def test_sub_words_need_ten_occurrences_so_a_small_text_has_a_small_vocabulary() -> None:
    little, much = (
        Side.learn(["the ship"] * count, TextConfig(tokenizer="bpe")) for count in (9, 10)
    )
    assert len(little.encode(["the ship"])[0]) > len(much.encode(["the ship"])[0]) == 2
    given = Side.learn(["the ship"] * 9, TextConfig(tokenizer="bpe", min_count=9))
    assert len(given.encode(["the ship"])[0]) == 2


def test_no_lines_and_a_line_end() -> None:
    side = Side.learn(LINES, TextConfig(tokenizer="words"))
    assert side.encode([]) == []
    with pytest.raises(InputError, match="text 2 has a line break"):
        side.encode(["a", "b\nc"])
