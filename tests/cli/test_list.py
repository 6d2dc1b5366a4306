"""`elman list`, as people and scripts call it."""

from typing import Any


def test_list(says: Any, gives: Any) -> None:
    families = gives("list")
    assert {"adapters", "corpora", "decoding", "models", "recipes", "smoothers"} <= set(families)
    assert all(about for members in families.values() for about in members.values())
    shown = says("list")
    assert all(name in shown for members in families.values() for name in members)
    assert gives("list", "recipes") == {"recipes": families["recipes"]}
    assert "ngram" in says("list", "models")
