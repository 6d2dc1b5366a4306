"""--attention, --alignments and --mix of the commands that translate; `elman study lengths`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pairs import train_translator, write_parallel

LINES = "the dog sees\n\na man\nxyzzy\n"


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a parallel text and a few runs over it."""
    place = tmp_path_factory.mktemp("looking")
    data = write_parallel(place / "data")
    runs: dict[str, tuple[str, ...]] = {
        "en-de": (),
        "other": ("model.hidden_size=5",),
        "none": ("model.attention=none",),
        "letters": ("text.tokenizer=characters",),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elman.tasks.training_run.draw_curves", lambda records, path: None)
        for name, settings in runs.items():
            train_translator(data, place / name, "training.epochs=0.5", *settings)
    (place / "lines.en").write_text(LINES)
    return place


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine."""
    monkeypatch.setattr("elman.cli.output._PATIENCE", 1e9)


def test_pictures_and_alignments(call: Any, place: Path) -> None:
    told = call("translate", "en-de", "lines.en", "--attention", "map.svg", "--alignments", "a")
    assert told.code == 0
    assert told.err == "note: pictures: map-1.svg … map-4.svg\n"
    assert ">dog<" in (place / "map-1.svg").read_text(encoding="utf-8")
    lines = (place / "a").read_text().split("\n")
    assert len(lines) == 5
    assert lines[1] == ""
    assert call("translate", "en-de", "lines.en").out == told.out


def test_json_has_alignments(gives: Any, place: Path) -> None:
    asked = ("translate", "en-de", "lines.en", "--attention", "map.json")
    printed = gives(*asked)["translations"]
    maps = json.loads((place / "map.json").read_text(encoding="utf-8"))
    assert [one["attention"]["alignment"] for one in printed] == [one["alignment"] for one in maps]
    assert maps[0]["source"] == ["the", "dog", "sees", "<eos>"]
    assert maps[1] == {"source": [], "target": [], "weights": [], "alignment": ""}
    assert sum(maps[0]["weights"][0]) == pytest.approx(1, abs=1e-4)


def test_runs_are_mixed(gives: Any) -> None:
    asked = ("translate", "en-de", "--text", "the dog sees")
    scores = [
        gives(*asked, *mixed)["translations"][0]["log_prob"] for mixed in ((), ("--mix", "other"))
    ]
    assert scores[0] != scores[1]
    assert gives(*asked, "--mix", "en-de")["translations"][0]["log_prob"] == pytest.approx(
        scores[0], abs=1e-4
    )


def test_lengths(says: Any, gives: Any, place: Path) -> None:
    asked = ("study", "lengths", "en-de", "none", "--data", "data", "--beam", "1")
    table = says(*asked, "--out", "lengths.png").splitlines()
    assert table[0].split() == ["source", "length", "lines", "en-de", "none", "en-de", "−", "none"]
    assert table[5].startswith("all")
    assert "BLEU, by the words of the source; nrefs:1|" in table[6]
    assert (place / "lengths.png").exists()
    data = gives(*asked, "--measure", "exact", "--bounds", "3,5")
    assert [band["longest"] for band in data["bands"]] == [3, 5, 8]
    assert [run["name"] for run in data["runs"]] == ["en-de", "none"]
    assert data["signature"] is None
    twice = gives("study", "lengths", "en-de", "./en-de", "--data", "data", "--beam", "1")
    assert [run["name"] for run in twice["runs"]] == ["en-de", "./en-de"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "translate none lines.en --attention map.png",
            "none: this run was trained without attention",
        ),
        ("translate en-de lines.en --attention map.gif", "end in .png or .svg or .json"),
        ("translate en-de lines.en --attention no/map.png", "the folder no does not exist"),
        ("translate en-de lines.en --alignments data", "data: is a folder; name a file"),
        ("translate en-de lines.en --mix letters", "different source vocabularies"),
        ("translate none lines.en --coverage-penalty 0.2", "this model has no attention"),
        ("study lengths en-de --data data --bounds 3,x", "--bounds 3,x: give whole numbers"),
        ("study lengths en-de --data data --bands 0", "bands=0: must be at least 1"),
        ("study lengths en-de --data data --measure blue", "unknown measure 'blue'"),
        ("study lengths en-de --data data --out lengths.gif", "end in .png or .svg"),
    ],
)
def test_what_is_refused(call: Any, arguments: str, message: str) -> None:
    told = call(*arguments.split())
    assert (told.code, told.out) == (2, "")
    assert message in told.err
    assert told.err.count("\n") == 1
