"""`elman explain`, as people and scripts call it."""

from typing import Any

import numpy as np
import pytest


def test_explain(says: Any, gives: Any) -> None:
    shown = says("explain", "words", "--text", "the cat")
    assert [line.split(":")[0] for line in shown.splitlines() if ": probability" in line] == [
        "the",
        "cat",
    ]
    found = gives("explain", "words", "--text", "the cat")["tokens"]
    rows = gives("surprisal", "words", "--text", "the cat", "--base", "e")["words"]
    assert [word["token"] for word in found] == ["the", "cat"]
    for word, row in zip(found, rows, strict=True):
        assert -np.log(word["probability"]) == pytest.approx(row["surprisal"])
