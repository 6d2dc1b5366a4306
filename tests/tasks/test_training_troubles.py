"""Failures of a training: missing devices, divergence, full disks."""

from __future__ import annotations

import errno
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tiny import history, train_tiny, weights

from elman.errors import ElmanError, InputError
from elman.models.recurrent import RecurrentModel
from elman.runs import parts as run_parts
from elman.runs.folder import read_run
from elman.tasks.task import load, resume
from elman.training.loop import Loop
from elman.training.machine import Machine

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (Machine(device="nonsense"), "--device nonsense: cannot be used here"),
        (Machine(device="meta"), "--device meta: cannot be used here"),
        (Machine(device="cuda:99"), "--device cuda:99: cannot be used here"),
        (Machine(threads=0), "--threads 0: must be at least 1"),
    ],
    ids=["nonsense", "meta", "cuda:99", "threads"],
)
def test_a_machine_that_is_not_there(data: Path, out: Path, where: Machine, message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_tiny(data, out, machine=where)
    assert not out.exists()


def test_tensorboard_that_is_not_installed(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="TensorBoard is not installed: pip install tensorboard"):
        train_tiny(data, out, machine=Machine(tensorboard=True))
    assert not out.exists()


def test_tensorboard_is_told_every_number(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float, int]] = []

    class Writer:
        def __init__(self, place: str) -> None:
            assert place == str(out / "tensorboard")

        def add_scalar(self, name: str, value: float, step: int) -> None:
            told.append((name, value, step))

        def close(self) -> None:
            told.append(("closed", 0, 0))

    library = SimpleNamespace(SummaryWriter=Writer)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", library)
    train_tiny(data, out, machine=Machine(tensorboard=True))
    last = history(out)[-1]
    assert ("valid_perplexity", last["valid_perplexity"], last["step"]) in told
    assert told[-1] == ("closed", 0, 0)
    with pytest.raises(InputError, match="tensorboard needs a run folder"):
        train_tiny(data, None, machine=Machine(tensorboard=True))


def test_too_little_text_is_refused_before_anything_is_written(tmp_path: Path, out: Path) -> None:
    (tmp_path / "short.txt").write_text("a b\n")
    with pytest.raises(InputError, match="too few for training.batch_size=4"):
        train_tiny(tmp_path / "short.txt", out)
    assert not out.exists()


@pytest.mark.parametrize("kind", ["loss", "gradient"])
def test_a_divergence_is_recovered_from_and_told(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    calls = 0
    loss = RecurrentModel.loss

    def spoil(self: RecurrentModel, batch: Any, carried: Any) -> Any:
        nonlocal calls
        shown, state = loss(self, batch, carried)
        calls += self.training
        if self.training and calls == 15:
            worse = shown.nats * math.nan
            if kind == "gradient":
                zero = self.input.weight.sum()
                worse = shown.nats + torch.sqrt(zero - zero.detach())
            shown = type(shown)(worse, shown.tokens, shown.penalty)
        return shown, state

    monkeypatch.setattr(RecurrentModel, "loss", spoil)
    trained = train_tiny(data, out)
    told = [record for record in history(out) if "problem" in record]
    assert [record["diverged_at_step"] for record in told] == [15]
    assert told[0]["rate_factor"] == 0.5
    parts = read_run(out)
    assert parts["training.json"]["trainer"]["rate_factor"] == 0.5
    assert all(np.isfinite(array).all() for array in parts["last.safetensors"].values())
    assert trained.facts["training"]["finished"] is True


def test_after_three_returns_the_run_holds_the_good_checkpoint(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = RecurrentModel.loss
    seen: list[int] = []

    def spoil(self: RecurrentModel, batch: Any, carried: Any) -> Any:
        shown, state = loss(self, batch, carried)
        seen.append(1)
        if self.training and len(seen) > 15:
            shown = type(shown)(shown.nats * math.inf, shown.tokens, shown.penalty)
        return shown, state

    monkeypatch.setattr(RecurrentModel, "loss", spoil)
    with pytest.raises(ElmanError, match=r"training diverged \(loss inf.*and again after 3") as e:
        train_tiny(data, out)
    assert e.value.exit_code == 1
    assert len([record for record in history(out) if "problem" in record]) == 3
    monkeypatch.setattr(RecurrentModel, "loss", loss)
    parts = read_run(out)
    assert parts["training.json"]["trainer"]["rate_factor"] == 0.125
    assert all(np.isfinite(array).all() for array in parts["last.safetensors"].values())
    assert load(out).perplexity("the cat\n") < 100
    assert resume(out).facts["training"]["finished"] is True  # when the trouble is over


def test_a_full_disk_ends_it_with_the_last_checkpoint_whole(
    data: Path, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_tiny(data, tmp_path / "whole")
    monkeypatch.setattr(Loop, "_saving_due", lambda self: self.trainer.counters.step % 3 == 0)
    written = 0
    write = run_parts._write_arrays

    def fill(path: Path, arrays: dict[str, np.ndarray]) -> None:
        nonlocal written
        written += 1
        write(path, arrays)
        if written == 11:
            os.truncate(path, 100)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_parts, "_write_arrays", fill)
    with pytest.raises(
        ElmanError, match=r"run: the disk is full; about \d+\.\d MB are needed.*train --resume"
    ):
        train_tiny(data, out)
    monkeypatch.setattr(run_parts, "_write_arrays", write)
    step = read_run(out)["training.json"]["trainer"]["step"]
    assert step % 3 == 0
    assert 0 < step < 12
    assert not [path for path in out.iterdir() if "partial" in path.name]
    assert len(list(out.glob("last.*"))) == len(list(out.glob("weights.*"))) == 1
    assert weights(resume(out)) == weights(whole)
