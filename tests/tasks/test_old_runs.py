"""Runs that version 0.1.0 stored must load for ever after, and say what they said then.

`tests/fixtures/make.py` made them with that version, and recorded its answers. Here the same is
asked again, through doors that stay: `elman.load` and the command line.
"""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from fingerprints import NOT_COMPARED, arithmetic, arithmetic_of_training, weights_hashes

import elman
from elman.cli import run

RUNS = Path(__file__).parents[1] / "fixtures" / "runs-0.1"
EXPECTED = {
    path.parent.name: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(RUNS.glob("*/expected.json"))
}
STOPPED = [name for name, expected in EXPECTED.items() if "resume" in expected]
FINISHED = [name for name in EXPECTED if name not in STOPPED]
QUESTIONS = [
    pytest.param(answer, id=" ".join(answer["command"]))
    for name in FINISHED
    for answer in EXPECTED[name]["answers"]
]


def ask(command: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run([*command, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def values(data: Any, name: str = "") -> dict[str, list[Any]]:
    """Every number and text in the order in which it comes, by the key under which it stands.

    So a list may become part of an object, and objects may get more keys, but none may be lost.
    """
    found: dict[str, list[Any]] = {}
    if not isinstance(data, dict | list):
        return {name: [data]}
    pairs = data.items() if isinstance(data, dict) else ((name, one) for one in data)
    for key, value in pairs:
        if key not in NOT_COMPARED:
            for inner, more in values(value, key).items():
                found.setdefault(inner, []).extend(more)
    return found


def same(one: Any, other: Any, tolerance: float) -> bool:
    """Numbers within a tolerance, everything else exactly; `generate` writes `dog.` since 0.2.0."""
    if isinstance(one, str) and isinstance(other, str):
        return one.replace(" .", ".") == other.replace(" .", ".")
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-7)
    return type(one) is type(other) and one == other


def check(expected: Any, found: Any, tolerance: float = 1e-6) -> None:
    today = values(found)
    for key, then in values(expected).items():
        now = today.get(key, [])
        differing = [pair for pair in zip(then, now, strict=False) if not same(*pair, tolerance)]
        assert len(now) == len(then), f"{key}: {then} became {now}"
        assert not differing, f"{key}: {differing}"


def test_there_are_runs_of_every_kind() -> None:
    kinds = {
        json.loads((RUNS / name / "config.json").read_text())["model"]["kind"] for name in EXPECTED
    }
    assert kinds == {
        *("ngram", "feed-forward", "log-bilinear", "recurrent", "bidirectional"),
        *("tagger", "classifier", "answerer", "encoder-decoder"),
    }
    assert len(STOPPED) == 7


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_run_loads(name: str) -> None:
    assert elman.load(RUNS / name).config.to_data()["seed"] is not None


@pytest.mark.parametrize("answer", QUESTIONS)
def test_an_old_run_says_what_it_said(
    answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(RUNS)
    found = ask(answer["command"], capsys)
    if answer["command"][0] == "surprisal":  # since 0.2.0, the sum over tokens has its own column
        for word in found["words"]:
            word["surprisal"] = word.pop("surprisal_uncorrected")
    if "quantised" in answer["command"]:
        check_eight_bits(answer, found)
    elif answer["command"][0] == "generate" and not rounds_as_then():
        check_drawn(answer["data"], found)
    else:
        check(answer["data"], found)


def rounds_as_then() -> bool:
    """Whether this processor and torch round as those did that recorded the answers."""
    return all(EXPECTED[name]["arithmetic"] == arithmetic() for name in STOPPED)


def check_drawn(expected: Any, found: Any) -> None:
    """Where words are equally probable but for rounding, one may be drawn in place of another: as
    many words then, with the same log probability.
    """
    then, now = values(expected), values(found)
    check({"log_prob": then["log_prob"]}, {"log_prob": now["log_prob"]}, tolerance=1e-4)
    assert len(now["tokens"]) == len(then["tokens"])
    alike = sum(map(same, now["tokens"], then["tokens"], [0.0] * len(then["tokens"])))
    assert alike >= 0.8 * len(then["tokens"]), f"{then['tokens']} became {now['tokens']}"


def check_eight_bits(answer: dict[str, Any], found: Any) -> None:
    """Products with eight-bit weights rounded values to bfloat16 in 0.1.0, and no longer do: so
    numbers agree to three digits, and another word may be drawn.
    """
    if answer["command"][0] == "generate":
        assert len(values(found)["text"]) == len(values(answer["data"])["text"])
    else:
        check(answer["data"], found, tolerance=1e-3)


@pytest.mark.parametrize("name", STOPPED)
def test_an_old_training_goes_on_as_it_would_have(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(RUNS / name, tmp_path / name)
    shutil.copytree(RUNS / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    expected = EXPECTED[name]
    assert run(expected["resume"]) == 0
    (answer,) = expected["answers"]
    weights = expected["weights"].get(arithmetic_of_training())
    if weights:
        assert weights_hashes(Path(name)) == weights
        check(answer["data"], ask(answer["command"], capsys))
    else:  # another processor or torch rounds otherwise, and training makes more of it
        check(answer["data"], ask(answer["command"], capsys), tolerance=0.01)
