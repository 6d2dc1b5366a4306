"""Counting types in bounded memory gives the vocabulary of counting them all."""

from collections import Counter

import numpy as np
import pytest

from elman.text import type_counts
from elman.text.tokenizer import TextConfig, count_vocabulary
from elman.text.type_counts import TypeCounts


@pytest.mark.parametrize("size", [None, 3, 20, 10**6])
@pytest.mark.parametrize("min_count", [0, 1, 3])
def test_the_same_words(size: int | None, min_count: int, monkeypatch) -> None:
    monkeypatch.setattr(type_counts, "MOST_TYPES", 7)
    draws = np.random.default_rng(0).zipf(1.3, 3000) % 200
    words = [f"wört\n{number}" for number in draws]
    config = TextConfig(vocabulary_size=size, min_count=min_count)
    counts = TypeCounts(without=["wört\n1"])
    for start in range(0, len(words), 50):
        counts.add(words[start : start + 50])
    expected = Counter(words)
    del expected["wört\n1"]
    assert counts.frequent(config, 2, 2) == count_vocabulary(expected, config, 2, 2)


def test_few_types_need_no_files() -> None:
    counts = TypeCounts()
    counts.add(["b", "a", "b"])
    assert counts.frequent(TextConfig(), 1, 0) == ["b", "a"]
    assert TypeCounts().frequent(TextConfig(), 1, 0) == []
