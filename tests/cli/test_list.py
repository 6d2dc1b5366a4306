"""`elman list`, as people and scripts call it."""

import re
from pathlib import Path
from typing import Any

import elman
from elman.cli.list import KINDS


def test_list(says: Any, gives: Any) -> None:
    families = gives("list")
    assert {"adapters", "corpora", "decoding", "models", "recipes", "smoothers"} <= set(families)
    assert all(about for members in families.values() for about in members.values())
    shown = says("list")
    assert all(name in shown for members in families.values() for name in members)
    assert gives("list", "recipes") == {"recipes": families["recipes"]}
    assert "ngram" in says("list", "models")


def test_what_settings_refer_to_can_be_listed() -> None:
    package = Path(elman.__file__).parent
    pages = Path(__file__).parents[2] / "docs"
    named = {
        kind
        for path in (*package.rglob("*.py"), *pages.glob("*.md"))
        for kind in re.findall(r"elman list ([a-z-]+)\b", path.read_text(encoding="utf-8"))
    }
    assert {"cells", "poolings", "spellings"} <= named <= set(KINDS)
