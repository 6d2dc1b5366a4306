"""`elman tour`, on fewer rungs."""

from pathlib import Path
from typing import Any

import pytest


def test_tour(monkeypatch: pytest.MonkeyPatch, says: Any, gives: Any, tmp_path: Path) -> None:
    from elman.experiments.tour import RUNGS

    five = RUNGS["grammar"][4]
    short = {"grammar": [RUNGS["grammar"][1], five], "python-docs": [RUNGS["python-docs"][2]]}
    monkeypatch.setattr("elman.experiments.tour.RUNGS", short)
    page = tmp_path / "tour.html"
    shown = says("tour", "--report", str(page))
    assert "the limit: the grammar itself" in shown
    assert "That was 3 models" in shown
    assert "What to try next:" in shown
    assert str(page) in shown
    assert five.name in page.read_text(encoding="utf-8")
    found = gives("tour", "--report", "")
    assert [rung["rung"] for rung in found["ladders"]["grammar"]] == [
        "bigram, add one (Laplace)",
        "5-gram, modified Kneser-Ney",
    ]
    assert found["limit"] > 1
