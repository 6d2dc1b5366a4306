"""`elman compare`, as people and scripts call it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_compare(call: Any) -> None:
    result = call("compare", "laplace", "words", "letters", "--data", "data")
    assert result.code == 0
    names = [line.split(" ")[0] for line in result.out.splitlines()[2:5]]
    assert names == ["laplace", "words", "letters"]
    assert "compare bits per byte instead" in result.err


def test_compare_as_data(gives: Any) -> None:
    found = gives("compare", "laplace", "words", "--data", "data")
    first, second = found["runs"]
    assert (first["run"], second["run"]) == ("laplace", "words")
    assert first["against_first"] is None
    assert second["perplexity_comparable"] is True
    assert second["against_first"]["p_value"] < 0.05
    assert second["against_first"]["difference"] < 0
    (pair,) = found["pairs"]
    assert pair["difference"] == second["against_first"]["difference"]
    assert (pair["measure"], pair["better"], found["unit"]) == ("nats", "words", "lines")
    again = gives("compare", "laplace", "words", "--data", "data", "--draws", "50", "--seed", "3")
    assert (again["draws"], again["seed"]) == (50, 3)
    assert again["pairs"][0]["difference"] == pair["difference"]
    assert again["pairs"][0]["low"] != pair["low"]


def test_compare_every_pair(says: Any) -> None:
    printed = says("compare", "laplace", "words", "words", "--data", "data")
    assert "words − laplace" in printed
    assert "too small to tell: words − words (surprisal %)" in printed
    assert "not corrected" in printed


def test_compare_on_a_few_lines_says_so(
    call: Any, tmp_path: Path, sentences: Callable[[int, int], str]
) -> None:
    (tmp_path / "few.txt").write_text(sentences(3, 5))
    result = call("compare", "laplace", "words", "--data", str(tmp_path / "few.txt"))
    assert result.code == 0
    assert "too few to tell" in result.err


def test_compare_refuses_no_draws(call: Any) -> None:
    result = call("compare", "words", "laplace", "--data", "data", "--draws", "0")
    assert (result.code, result.err) == (2, "elman: draws=0: must be at least 1\n")
