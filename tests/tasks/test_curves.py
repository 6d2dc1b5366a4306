"""The curves are drawn when a training ends, for any reason, if the disk has space."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import train_tiny

from elman.errors import ElmanError
from elman.tasks import training_run
from elman.tasks.task import load, resume
from elman.training.history import CURVES, draw_curves
from elman.training.loop import Stopped


@pytest.fixture(autouse=True)
def with_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "draw_curves", draw_curves)


def test_the_curves_are_drawn(data: Path, out: Path, stopping: list[int]) -> None:
    stopping.append(12)
    with pytest.raises(Stopped):
        train_tiny(data, out)
    stopping.clear()
    assert (out / CURVES).read_bytes().startswith(b"\x89PNG")
    (out / CURVES).unlink()
    resume(out)
    assert (out / CURVES).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_curves_and_all_on_a_disk_that_is_really_full(
    disk_of: Callable[[str], Path], data: Path
) -> None:
    out = disk_of("128k") / "run"  # on which little more than one checkpoint fits
    with pytest.raises(ElmanError, match=r"disk is full|No space left"):
        train_tiny(data, out, "model.hidden_size=30", "training.epochs=30")
    assert load(out).perplexity("the cat\n") < 100
    assert not [path for path in out.iterdir() if "partial" in path.name]
