"""The history of a run: records on disk, and their picture."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from elman.errors import ElmanError
from elman.training import history
from elman.training.history import (
    CURVES,
    HISTORY,
    History,
    criterion,
    curves_figure,
    draw_curves,
    read_history,
    still_improving,
)

RECORDS: list[dict[str, Any]] = [
    {"step": 50, "epoch": 0.5, "train_perplexity": 80.0, "learning_rate": 1.0, "gradient_norm": 2},
    {"step": 50, "epoch": 0.5, "valid_perplexity": 70.0, "best": True},
    {"step": 50, "epoch": 0.5, "diverged_at_step": 61, "problem": "loss nan – é"},
    {"step": 100, "epoch": 1.0, "train_perplexity": 60.0, "learning_rate": 0, "gradient_norm": 0},
]


def written(folder: Path, records: list[dict[str, Any]] = RECORDS) -> Path:
    made = History(folder)
    for record in records:
        made.add(record)
    return folder / HISTORY


def test_records_are_on_disk_at_once(tmp_path: Path) -> None:
    made = History(tmp_path)
    assert read_history(tmp_path) == []
    for number, record in enumerate(RECORDS, 1):
        made.add(record)
        assert read_history(tmp_path) == RECORDS[:number]
    lines = (tmp_path / HISTORY).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == RECORDS


def test_there_need_not_be_any(tmp_path: Path) -> None:
    assert read_history(tmp_path) == []


@pytest.mark.parametrize("keep", range(6))
def test_what_came_after_a_checkpoint_is_dropped(tmp_path: Path, keep: int) -> None:
    written(tmp_path)
    made = History(tmp_path, keep)
    assert made.records == read_history(tmp_path) == RECORDS[:keep]
    made.add(RECORDS[-1])
    assert read_history(tmp_path) == [*RECORDS[:keep], RECORDS[-1]]
    assert [path.name for path in tmp_path.iterdir()] == [HISTORY]


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        complete = sum(length >= end for end in ends)  # a newline itself may be missing
        assert read_history(tmp_path) == RECORDS[:complete]
    path.write_bytes(whole + b"\0\0\0\xff")
    assert read_history(tmp_path) == RECORDS
    History(tmp_path, 4).add(RECORDS[0])
    assert read_history(tmp_path) == [*RECORDS, RECORDS[0]]


def test_a_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = History(tmp_path)

    opened = Path.open

    def full(self: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if mode != "r":
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(self, mode, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ElmanError, match=r"history.jsonl: cannot be written \(No space left"):
        made.add(RECORDS[0])
    with pytest.raises(ElmanError, match="the last checkpoint is intact"):
        History(tmp_path)


def test_the_curves_are_a_picture(tmp_path: Path) -> None:
    draw_curves(RECORDS, tmp_path / CURVES)
    assert (tmp_path / CURVES).read_bytes().startswith(b"\x89PNG")
    draw_curves(RECORDS[:1], tmp_path / CURVES)  # without validation
    draw_curves(RECORDS[-1:], tmp_path / CURVES)  # nothing above zero
    draw_curves([RECORDS[0] | {"train_perplexity": 1e300}, RECORDS[3]], tmp_path / CURVES)
    assert [path.name for path in tmp_path.iterdir()] == [CURVES]


@pytest.mark.parametrize(
    ("name", "label", "drawn"),
    [("valid_error", "error rate", 0.2), ("valid_span_error", "F1 of spans", 0.8)],
)
def test_axes_name_the_measure(name: str, label: str, drawn: float) -> None:
    train = {"epoch": 1.0, "train_perplexity": math.exp(2), "gradient_norm": 1, "learning_rate": 1}
    figure = curves_figure([train, {"epoch": 1.0, name: 0.2}], [train])
    above, middle, below = figure.axes
    assert "negative log-likelihood" in above.get_ylabel()
    assert above.lines[0].get_ydata() == pytest.approx([2.0])
    assert middle.get_ylabel() == label
    assert middle.lines[0].get_ydata() == pytest.approx([drawn])
    assert below.get_xlabel() == "epochs"
    assert criterion("span_error", 1.0001) == ("F1 of spans", 0)
    above, _ = curves_figure([train, {"epoch": 1.0, "valid_perplexity": 9.0}], [train]).axes
    assert above.get_ylabel() == "perplexity"


def test_without_records_there_is_no_picture(tmp_path: Path) -> None:
    draw_curves(RECORDS[1:3], tmp_path / CURVES)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_curves(RECORDS, tmp_path / CURVES)
    before = (tmp_path / CURVES).read_bytes()

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(history.os, "replace", full)
    draw_curves(RECORDS[:1], tmp_path / CURVES)
    assert (tmp_path / CURVES).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [CURVES]
    draw_curves(RECORDS, tmp_path / "no folder" / CURVES)


@pytest.mark.parametrize(
    ("values", "improving"),
    [
        ([0.5, 0.4, 0.3, 0.2], True),
        ([0.5, 0.4, 0.2, 0.3], False),  # the last one is not the best
        ([0.5, 0.4, 0.2, 0.199], False),  # half a percent is next to nothing
        ([0.5, 0.4, 0.2, 0.198], True),  # one percent
        ([0.5, 0.4, 0.2, 0.2, 0.2, 0.2, 0.2, 0.19], True),  # against the best before the last two
        ([0.5, 0.1, 0.01, 1e-9], False),  # nothing is left to improve
        ([0.5], False),  # nothing to compare with
        ([], False),
    ],
)
def test_whether_validation_was_still_improving(values: list[float], improving: bool) -> None:
    records: list[dict[str, Any]] = [{"epoch": 1.0, "valid_error": value} for value in values]
    records.insert(1, {"epoch": 1.0, "train_perplexity": 1.0})
    assert still_improving(records, "error") is improving
    assert still_improving(records, "perplexity") is False
