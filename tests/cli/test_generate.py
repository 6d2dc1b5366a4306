"""`elman generate`, as people and scripts call it."""

from pathlib import Path
from typing import Any

import elman


def test_generate(says: Any, place: Path) -> None:
    shown = says("generate", "words", "--prompt", "the cat", "--max-tokens", "4", "--seed", "3")
    (expected,) = elman.load(place / "words").generate("the cat", max_tokens=4, seed=3)
    assert shown == expected.text + "\n"
    spaced = says("generate", "words", "--prompt", "the cat ", "--max-tokens", "4", "--seed", "3")
    assert spaced == shown
    letters = says("generate", "letters", "--prompt", "the ", "--max-tokens", "3", "--greedy")
    assert letters.startswith("the ")
    assert len(letters) == len("the xyz\n")


def test_generate_several(says: Any) -> None:
    shown = says("generate", "words", "--prompt", "a", "--samples", "3", "--stop-at-line-end")
    assert [line for line in shown.splitlines() if line.startswith("──")][2].startswith("── 3 (log")
    beam = says("generate", "words", "--beam", "4", "--n-best", "2", "--max-tokens", "5")
    assert beam.count("──") == 2


def test_generate_as_data(gives: Any) -> None:
    (found,) = gives("generate", "words", "--prompt", "the cat", "--max-tokens", "3")["samples"]
    assert found["text"] == "the cat" + found["continuation"]
    assert len(found["tokens"]) == 3
    assert found["log_prob"] < 0
    assert len(gives("generate", "words", "--samples", "4")["samples"]) == 4


def test_generate_knobs(gives: Any) -> None:
    options = ("generate", "words", "--prompt", "the", "--samples", "8", "--max-tokens", "6")
    for sample in gives(*options, "--ban", "cat", "--ban", ".")["samples"]:
        assert not {"cat", "."} & set(sample["tokens"])
    for sample in gives(*options, "--force", "bird sees")["samples"]:
        assert sample["tokens"][:2] == ["bird", "sees"]
    stopped = gives(*options, "--stop", " a")["samples"]
    assert all(" a" not in sample["continuation"] for sample in stopped)
    greedy = [gives(*options, *knob)["samples"] for knob in (("--greedy",), ("--temperature", "0"))]
    assert greedy[0] == greedy[1]
    assert len({sample["text"] for sample in greedy[0]}) == 1


def test_generate_measures(gives: Any, says: Any) -> None:
    options = ("generate", "words", "--samples", "5", "--measure", "--against", "data")
    found = gives(*options)
    assert len(found["samples"]) == 5
    assert found["measures"]["samples"] == 5
    assert set(found["measures"]["copied"]) == {"4", "6", "8"}
    shown = says(*options)
    assert "distinct-1" in shown
    assert "longest copy (tokens)" in shown
    assert says("generate", "words", "--measure").count("copied") == 0


def test_generate_says_when_the_prompt_is_unknown(call: Any) -> None:
    result = call("generate", "words", "--prompt", "the zebra", "--max-tokens", "2")
    assert result.code == 0
    assert "1 of 2 tokens of the prompt are out of vocabulary" in result.err
