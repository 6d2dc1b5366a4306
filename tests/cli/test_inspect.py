"""`elman inspect` as people call it."""

import json
from pathlib import Path
from typing import Any

import pytest

import elman


@pytest.fixture(scope="module")
def network(place: Path) -> str:
    settings = ["model.hidden_size=8", "model.embedding_size=8", "training.epochs=1"]
    elman.train("small", data=str(place / "data"), out=place / "network", overrides=settings)
    return "network"


def test_a_report_from_a_text(says: Any, network: str, place: Path) -> None:
    said = says("inspect", network, "--text", "the cat sees a dog .", "--out", "report.html")
    assert "Report: report.html" in said
    assert "gradient-flow: The gradient" in said
    page = (place / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "the cat sees a dog ." in page


def test_data(gives: Any, network: str) -> None:
    seen = gives("inspect", network, "--text", "the cat", "--view", "surprisal")
    (run,) = seen["runs"]
    assert run["insights"]["surprisal"]["data"]["tokens"] == ["the", "cat"]
    assert run["insights"]["surprisal"]["drawings"][0]["kind"] == "colouredText"


def test_without_a_text_it_reads_the_ticket_sentence(says: Any, network: str, place: Path) -> None:
    says("inspect", network, "--view", "surprisal", "--out", "tickets.json")
    (run,) = json.loads((place / "tickets.json").read_text(encoding="utf-8"))["runs"]
    assert run["text"].endswith("she finally printed her tickets")


def test_pictures(says: Any, network: str, place: Path) -> None:
    arguments = ["--text", "the cat", "--view", "gradient-flow", "--pictures", "figures"]
    assert "Pictures: 2 in figures" in says("inspect", network, *arguments)
    assert (place / "figures" / "network-gradient-flow-1.png").read_bytes()[:4] == b"\x89PNG"


def test_long_texts_are_cut_and_that_is_said(call: Any, network: str, place: Path) -> None:
    (place / "long.txt").write_text("the cat sees a dog .\n" * 30)
    result = call("inspect", network, "--file", "long.txt", "--tokens", "10", "--view", "surprisal")
    assert result.code == 0
    assert "note: network: read 10 tokens, left out 200 (--tokens)" in result.err


def test_it_trains_cells(says: Any) -> None:
    said = says(
        "study", "cells", "elman", "lstm", "--data", "tickets:lines=40", "--view", "gradient-flow",
        "--set", "training.epochs=1", "--set", "model.hidden_size=8",
        "--set", "model.embedding_size=8",
    )  # fmt: skip
    assert said.startswith("elman\n  remembering: after 1 epochs,")
    assert "\n\nlstm\n  remembering:" in said
    assert said.count("\n  gradient-flow:") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["words", "--text", "x"], "not a neural model"),
        (["nowhere", "--text", "x"], "nowhere"),
        (["network", "--text", ""], "and not an empty text"),
        (["network", "--text", "x", "--file", "y"], "either --file or --text"),
        (["network", "--text", "x", "--out", "report.pdf"], "must end in .html or .json"),
        (
            ["network", "--text", "x", "--out", "no/such/report.html"],
            "the folder no/such does not exist",
        ),
        (["network", "--text", "x", "--format", "gif"], "choose png or svg"),
        (["network", "--text", "x", "--view", "gates"], "unknown insight 'gates'"),
        (["network", "--text", "x", "--tokens", "0"], "must be at least 2"),
        (["network", "network", "--text", "x"], "given twice"),
    ],
)
@pytest.mark.usefixtures("network")
def test_one_clear_line(call: Any, arguments: list[str], message: str) -> None:
    result = call("inspect", *arguments)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_it_does_not_write_over_a_file(call: Any, network: str, place: Path) -> None:
    (place / "mine.html").write_text("mine")
    arguments = [
        "inspect",
        network,
        "--text",
        "the cat",
        "--view",
        "surprisal",
        "--out",
        "mine.html",
    ]
    assert call(*arguments).code == 2
    assert (place / "mine.html").read_text() == "mine"
    assert call(*arguments, "--overwrite").code == 0
    assert (place / "mine.html").read_text() != "mine"
