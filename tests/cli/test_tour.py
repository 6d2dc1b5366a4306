"""`elman tour`, with fewer models."""

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
    assert shown.index("bigram, add one") < shown.index(f"\n{five.name}")
    assert str(page) in shown
    assert shown.index("3. agreement") < shown.index("4. what the models write")
    assert f"   python-docs, {five.name}:" in shown  # whose samples follow
    (header,) = [line for line in shown.splitlines() if line.startswith("model  ") and "+" in line]
    assert "%" not in header  # the columns are distances; the last is "or more"
    assert five.name in page.read_text(encoding="utf-8")
    found = gives("tour", "--report", "")
    assert [rung["rung"] for rung in found["ladders"]["grammar"]] == [
        "bigram, add one (Laplace)",
        "5-gram, modified Kneser-Ney",
    ]
    assert found["limit"] > 1


def test_a_stopped_tour_has_shown_what_it_has_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from elman.cli import run
    from elman.experiments.tour import RUNGS, climb

    def stop_at_second(rung: Any, corpus: str) -> Any:
        if rung is not RUNGS["grammar"][0]:
            raise KeyboardInterrupt
        return climb(rung, corpus)

    monkeypatch.setattr("elman.experiments.tour.climb", stop_at_second)
    assert run(["tour", "--report", ""]) != 0
    assert "unigram: how often" in capsys.readouterr().out
