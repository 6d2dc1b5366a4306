"""Output of commands: tables, JSON, notes and progress."""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from elman.cli import output
from elman.cli.output import _progress_line, counted, note, print_json, print_table, stages
from elman.json_safe import json_safe
from elman.training.progress import TrainingProgress


@dataclass
class Point:
    x: float
    names: tuple[str, ...]


def test_dataclasses_and_infinite_numbers_as_plain_data() -> None:
    data = {1: Point(math.inf, ("é",)), "nan": [math.nan, None, True, 3]}
    assert json_safe(data) == {"1": {"x": None, "names": ["é"]}, "nan": [None, None, True, 3]}


def test_json_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([Point(-math.inf, ("東京",)), np.float64(0.5)])
    printed = capsys.readouterr().out
    assert "東京" in printed  # readable, not \u escapes
    assert json.loads(printed) == [{"x": None, "names": ["東京"]}, 0.5]


def test_numbers_stand_right_and_words_left(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "n", "share"], [["a", 12345, 0.5], ["longer", 1, None]])
    assert capsys.readouterr().out.splitlines() == [
        "name         n  share",
        "──────  ──────  ─────",
        "a       12,345    0.5",
        "longer       1      –",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (1234567, "1,234,567"),
        (math.inf, "∞"),
        (1.23456, "1.235"),
        (123.456, "123.46"),
        (0.000012345, "1.234e-05"),
        ("word", "word"),
    ],
)
def test_cells(value: object, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["column"], [[value]])
    assert capsys.readouterr().out.splitlines()[-1].strip() == shown


def test_a_table_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["token", "probability"], [])
    assert capsys.readouterr().out.splitlines()[0] == "token  probability"


def test_notes_and_progress_do_not_disturb_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_PATIENCE", -1)
    note("mind this")
    with stages() as say:
        say("reading")
    with counted("scoring") as advance:
        advance(4, 10)
        advance(6, 10)
        advance(5, 20)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "note: mind this",
        "reading …",
        "scoring: 4 of 10",
        "scoring: 10 of 10",
        "scoring: 5 of 20",
    ]


def test_quick_work_needs_no_commentary(capsys: pytest.CaptureFixture[str]) -> None:
    with stages() as say, counted("scoring") as advance:
        say("reading")
        advance(3, 3)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_live_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with stages() as say:
        say("reading")
    with counted("scoring") as advance:
        advance(3, 3)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("judged_by", "validation", "shown"),
    [
        ("perplexity", 88.0, "perplexity 100.00 · validation 88.00 · "),
        ("perplexity", None, "perplexity 100.00 · 5 tokens/s"),
        ("error", 0.125, "loss 4.6052 · validation error rate 0.1250 · "),  # ln 100 = 4.6052
        ("error", 0.0, "loss 4.6052 · validation error rate 0.0000 · "),
        ("span_error", 0.25, "loss 4.6052 · validation F1 of spans 0.7500 · "),
    ],
)
def test_progress_names_what_a_model_is_judged_by(
    judged_by: str, validation: float | None, shown: str
) -> None:
    moment = TrainingProgress(
        epochs=0.5,
        of_epochs=2,
        tokens_per_second=5,
        perplexity=100.0,
        validation=validation,
        judged_by=judged_by,
        seconds_left=1,
    )
    assert shown in _progress_line(moment)
    assert "5 texts/s" in _progress_line(replace(moment, unit="texts"))
