"""Scores by source length, for runs that are right up to a known length."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elman.errors import InputError
from elman.experiments.lengths import compare_lengths
from elman.figures.studies import draw_lengths
from elman.tasks.translation.measures import Judging, measure_translation
from elman.tasks.translation.pairs import Pair

PAIRS = [Pair(" ".join("abcdefghijkl"[:n]), " ".join("ABCDEFGHIJKL"[:n])) for n in range(1, 13)]


class Stub:
    """A run that translates sources rightly up to some length."""

    def __init__(self, name: str, able: int, pairs: list[Pair] = PAIRS) -> None:
        self.name, self.able, self.pairs = name, able, pairs
        self.config = SimpleNamespace(text=SimpleNamespace(measure="exact"))
        self.asked: dict[str, Any] = {}

    def examples(self, data: str, split: str | None) -> list[Pair]:
        return self.pairs

    def measure(self, pairs: list[Pair], *, bounds: list[int], **options: Any) -> Any:
        self.asked = options
        lengths = [len(str(pair.source).split()) for pair in pairs]
        right = [pair.target for pair in pairs]
        guessed = [text if n <= self.able else "?" for text, n in zip(right, lengths, strict=True)]
        judging = Judging("none", False, "exact")
        return measure_translation(right, guessed, lengths, judging=judging, bounds=bounds)


def compare(*runs: Any, **options: Any) -> Any:
    return compare_lengths(runs, "data", **options)


def test_thirds() -> None:
    good, bad = Stub("good", 12), Stub("bad", 6)
    found = compare(good, bad, beam=3)
    assert [band.name for band in found.bands] == ["1–4", "5–8", "9–12"]
    assert [band.lines for band in found.bands] == [4, 4, 4]
    assert [band.mean_length for band in found.bands] == [2.5, 6.5, 10.5]
    assert found.runs[0].by_length == [1, 1, 1]
    assert found.runs[1].by_length == [1, 0.5, 0]
    assert (found.runs[1].whole, found.measure) == (0.5, "exact")
    assert found.gaps() == [[0, 0.5, 1]]
    assert good.asked == bad.asked == {"beam": 3}


def test_bands_and_bounds() -> None:
    run = Stub("run", 3)
    assert len(compare(run, bands=12).bands) == 12
    assert compare(run, bands=12).bands[0].name == "1"
    assert [band.name for band in compare(run, bounds=[3]).bands] == ["1–3", "4–12"]
    assert compare(run, bands=99).runs[0].by_length == [1.0] * 3 + [0.0] * 9
    assert compare(run, bands=1).runs[0].by_length == [0.25]


def test_another_measure_has_its_signature() -> None:
    found = compare(Stub("run", 12), measure="bleu")
    assert found.runs[0].whole == pytest.approx(100)
    assert "tok:none" in found.signature
    assert compare(Stub("run", 12)).signature is None
    assert found.to_data()["runs"][0]["name"] == "run"


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="other and run read different pairs"):
        compare(Stub("run", 3), Stub("other", 3, PAIRS[:5]))
    with pytest.raises(InputError, match="unknown measure 'blue'"):
        compare(Stub("run", 3), measure="blue")
    with pytest.raises(InputError, match="bands=0"):
        compare(Stub("run", 3), bands=0)
    with pytest.raises(InputError, match="no pairs"):
        compare(Stub("run", 3, []))


def test_the_picture_names_runs_and_bands(tmp_path: Path) -> None:
    found = compare(Stub("good $1$", 12), Stub("bad", 6))
    draw_lengths(found, tmp_path / "lengths.svg")
    picture = (tmp_path / "lengths.svg").read_text(encoding="utf-8")
    for words in ("good $1$ (1.000 on all)", "bad (0.500 on all)", "5–8", "exact match"):
        assert words in picture
    draw_lengths(found, tmp_path / "lengths.png")
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")
